import { defineConfig } from 'vitest/config'

/** One project a kind of test: `unit` needs nothing, `integration` runs on a real control plane (test/harness). */
export default defineConfig({
  test: {
    // As Node.js does it: the default import of a CommonJS package is its module.exports.
    deps: { interopDefault: false },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{apis,operator,controllers,services,cmd,hack,kustomize,test/{bench,harness}}/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/{integration,conformance,e2e}/**/*.test.ts'],
          globalSetup: ['test/harness/global.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
