/** vitest's setup file: in `npm run test:deep` a property that says nothing else is tried ten times as often. */
if (process.env.MUSTER_TEST_DEEP === 'yes') {
  const { default: fc } = await import('fast-check')
  fc.configureGlobal({ numRuns: 1_000 })
}

export {}
