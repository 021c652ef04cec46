import { defineConfig } from 'vitest/config'

/** One project a kind of test: `unit` needs nothing, `integration` runs on a real control plane (test/harness). */
export default defineConfig({
  test: {
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
