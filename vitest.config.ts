import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // SQLite's threads must not be ended from outside; processes may.
    pool: 'forks',
    // A process for each file costs more than most files do. A worker keeps its browser and its connections.
    isolate: false,
    unstubEnvs: true,
    // One more than the cores of CI: many tests wait for leases, processes and pages.
    maxWorkers: 3,
    // A machine that is busy may lose a race between processes; a defect fails twice.
    retry: process.env.CI ? 1 : 0,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      { extends: true, test: { name: 'units', include: ['src/**/*.test.ts', 'web/src/**/*.test.ts'] } },
      {
        extends: true,
        test: { name: 'whole', include: ['test/**/*.test.ts'], globalSetup: ['test/support/global-setup.ts'] },
      },
    ],
  },
})
