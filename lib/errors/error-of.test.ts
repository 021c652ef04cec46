import { expect, test } from 'vitest'
import { errorOf, remedyOf } from './error-of.ts'

const CATALOGUE = {
  FileError: { when: "a file can't be read", remedy: 'name another file' },
  DiskError: { when: 'the disk is full', remedy: 'do what the message says', inMessage: true },
  FolderError: { when: 'a folder was named', remedy: 'name a file in it' },
}

class FileError extends errorOf(CATALOGUE, 'FileError') {}
class DiskError extends errorOf(CATALOGUE, 'DiskError') {}
class FolderError extends FileError {
  override readonly name = 'FolderError'
}

test('an error knows its name and, by the catalogue, what to do', () => {
  const error = new FileError('/etc is a folder')
  expect(error.name).toBe('FileError')
  expect(error.remedy).toBe('name another file')
})

test('a class that extends another one of the catalogue has the remedy of its own name', () => {
  expect(remedyOf(new FolderError('/etc is a folder'))).toBe('name a file in it')
})

test('what the message says is not said twice', () => {
  expect(remedyOf(new DiskError('/var is full: remove what you do not need'))).toBeUndefined()
})

test('an error of no catalogue has no remedy', () => {
  expect(remedyOf(new Error('unknown'))).toBeUndefined()
  expect(remedyOf('unknown')).toBeUndefined()
})
