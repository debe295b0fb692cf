import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // SQLite's threads must not be ended from outside; processes may.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        // They leave nothing behind that the next file could notice, and a process for each takes longer than most of them.
        test: { name: 'units', include: ['src/**/*.test.ts', 'web/src/**/*.test.ts'], isolate: false },
      },
      {
        extends: true,
        test: { name: 'whole', include: ['test/**/*.test.ts'], globalSetup: ['test/support/global-setup.ts'] },
      },
    ],
  },
})
