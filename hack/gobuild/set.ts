import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../cache/folder.ts'

/** Programs that Go builds from one go.mod, kept together in the cache. */
export type BinarySet = {
  /** For people: "the control plane". */
  readonly title: string
  /** The folder's name in the cache. */
  readonly name: string
  /** The folder with go.mod and go.sum. */
  readonly module: string
  /** Of the main thing in it, for people who look into the cache: "v1.36.3". */
  readonly version: string
  /** The name of each program and the Go package it is built from: a `tool` of go.mod, or a folder of the module (`./name`). */
  readonly packages: Readonly<Record<string, string>>
  readonly flags: readonly string[]
}

const MODULE_FILES = ['go.mod', 'go.sum'] as const

const contentsOf = ({ module, packages }: BinarySet): readonly string[] => {
  const own = Object.values(packages).filter((source) => source.startsWith('./'))
  const sources = own.flatMap((folder) => readdirSync(join(module, folder)).map((file) => join(folder, file)))
  return [...MODULE_FILES, ...sources].map((file) => readFileSync(join(module, file), 'utf8'))
}

/** Names one build of a set: the same modules (which name the packages), flags and platform give the same name in every checkout. */
export const cacheKey = (set: BinarySet, contents: readonly string[] = contentsOf(set)): string => {
  const hash = createHash('sha256')
  for (const part of [...contents, ...set.flags, process.platform, process.arch]) hash.update(part).update('\0')
  return `${set.version}-${hash.digest('hex').slice(0, 12)}`
}

/** The folder of the binaries that this checkout wants, whether they are built or not. */
export const binariesFolder = (set: BinarySet): string => join(cacheFolder(), set.name, cacheKey(set), 'bin')
