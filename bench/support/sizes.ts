/** Sizes of each benchmark: the full run that is published, and a quick one that only proves that all of it works. */
export interface Sizes {
  histories: readonly number[]
  /** Rounds of baseline and ours, side by side. */
  rounds: number
  /** Appends or reads of one contestant in one round. */
  perRound: number
  /** No round of one contestant takes much longer than this. */
  roundMs: number
  writers: { rounds: number; callers: number; messagesEach: number }
  processes: { count: number; writersEach: number; forMs: number }
  open: { conversations: number; messagesEach: number; times: number }
  disk: { messages: number }
  search: { queriesOfEachLength: number; restMs: number }
  requests: { histories: readonly number[]; budget: number }
  retention: { budget: number; mostOfEach: number }
  teams: { short: number; long: number }
  server: { rounds: number; connections: number; messagesEach: number }
  web: { short: number; long: number; rounds: number }
}

export const fullSizes: Sizes = {
  histories: [0, 1_000, 10_000, 50_000],
  rounds: 7,
  perRound: 1_000,
  roundMs: 1_000,
  writers: { rounds: 15, callers: 64, messagesEach: 150 },
  processes: { count: 4, writersEach: 16, forMs: 5_000 },
  open: { conversations: 10_000, messagesEach: 50, times: 60 },
  disk: { messages: 50_000 },
  search: { queriesOfEachLength: 40, restMs: 10_000 },
  requests: { histories: [10_000, 100_000, 1_000_000], budget: 100_000 },
  retention: { budget: 20_000, mostOfEach: 150 },
  teams: { short: 1_000, long: 1_000_000 },
  server: { rounds: 7, connections: 64, messagesEach: 100 },
  web: { short: 10, long: 10_000, rounds: 9 },
}

export const quickSizes: Sizes = {
  histories: [0, 200],
  rounds: 2,
  perRound: 20,
  roundMs: 300,
  writers: { rounds: 1, callers: 64, messagesEach: 4 },
  processes: { count: 2, writersEach: 4, forMs: 300 },
  open: { conversations: 30, messagesEach: 10, times: 3 },
  disk: { messages: 500 },
  search: { queriesOfEachLength: 3, restMs: 0 },
  requests: { histories: [200, 400], budget: 4_000 },
  retention: { budget: 20_000, mostOfEach: 3 },
  teams: { short: 200, long: 1_200 },
  server: { rounds: 1, connections: 4, messagesEach: 5 },
  web: { short: 10, long: 100, rounds: 1 },
}
