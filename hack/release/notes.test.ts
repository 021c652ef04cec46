import { expect, test } from 'vitest'
import { notesOf, ReleaseError } from './notes.ts'

const CHANGELOG =
  '# Changelog\n\n## Unreleased\n\n- soon\n\n## 0.2.0 (2026-01-01)\n\n### Added\n- pools\n\n## 0.1.0\n\n## 0.0.1\n- old\n'

test('the notes of a version are what stands below its heading', () => {
  expect(notesOf(CHANGELOG, '0.2.0')).toBe('### Added\n- pools\n')
  expect(notesOf(CHANGELOG, '0.0.1')).toBe('- old\n')
})

test.for(['0.3.0', '0.1.0', '0.2'])('%s has none: the message says what to write', (version) => {
  expect(() => notesOf(CHANGELOG, version)).toThrow(ReleaseError)
  expect(() => notesOf(CHANGELOG, version)).toThrow(`move what stands under "## Unreleased" below "## ${version}"`)
})
