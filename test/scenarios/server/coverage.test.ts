/** Everything the library does is there over HTTP: each public method has an endpoint, or a reason why it has none. */
import type { Colloquy } from 'colloquy'
import { endpoints } from 'colloquy/server'
import { describe, expect, it } from 'vitest'
import { freshColloquy } from '../../support/colloquy.ts'

/** Endpoints by the method they serve; what starts with `–` is a reason. */
const served: Record<string, Record<string, string>> = {
  colloquy: {
    onRecorded: '– of this process alone: `operations.metrics` counts by it',
    subscribe: 'operations.events',
    verify: 'operations.verify',
    repair: '– for whoever keeps the machine: `colloquy verify --repair`',
    stats: 'projects.stats',
    totals: 'projects.totals',
    audit: 'projects.audit',
    queues: 'operations.metrics',
    maintain: 'operations.maintain',
    as: '– every request is somebody, in a project',
    orchestrate: 'dispatch.orchestrate',
    projects: 'projects.list',
    close: '– ends with the server',
  },
  nodes: {
    nodes: 'operations.nodes',
    announceNode: '– every server does it for itself',
    forgetNode: '– every server does it for itself',
  },
  sessions: {
    getOrCreateSession: 'sessions.getOrCreate',
    createSession: 'sessions.getOrCreate',
    getActiveSession: 'sessions.active',
    getSession: 'sessions.get',
    listSessions: 'sessions.list',
    getSessionLinks: 'projects.workItem',
    getCompacting: 'sessions.compacting',
    addMessage: 'sessions.addMessage',
    getRecentContext: 'sessions.messages',
    getRecentMessages: 'sessions.messages',
    getAllMessages: 'sessions.messages',
    getUserFacingMessages: 'sessions.messages',
    clearMessages: 'sessions.clear',
    resetSession: 'sessions.reset',
    archiveSession: 'sessions.archive',
    reopenSession: 'sessions.reopen',
    expireSession: 'sessions.expire',
    deleteSession: 'sessions.delete',
    setMetadata: 'sessions.annotate',
    setOutsideId: 'sessions.link',
    setRequestSettings: 'sessions.configure',
    stats: 'sessions.get',
    buildRequest: 'sessions.request',
    previewRequest: 'sessions.preview',
    forceCompact: 'sessions.compact',
    getCheckpoint: 'sessions.checkpoint',
    getCheckpointHistory: 'sessions.checkpoints',
    diffCheckpoints: 'sessions.compareCheckpoints',
    getCheckpointItem: 'sessions.checkpointItem',
    expand: 'sessions.checkpointItem',
    getContext: 'sessions.context',
    updateContext: 'sessions.updateContext',
    getAgentDescription: 'sessions.description',
    setAgentDescription: 'sessions.describe',
    getMetrics: 'sessions.metrics',
  },
  conversations: {
    createConversation: 'conversations.create',
    getConversation: 'conversations.get',
    findConversation: 'projects.workItem',
    listConversations: 'conversations.list',
    addEvent: 'conversations.say',
    buildAgentMessages: 'teams.view',
    previewAgentMessages: 'teams.previewView',
    acknowledge: 'teams.acknowledge',
    claim: 'teams.claim',
    renewClaim: 'teams.renewClaim',
    releaseClaim: 'teams.releaseClaim',
    pinMessage: 'conversations.pin',
    getEvents: 'conversations.events',
    getMessages: 'conversations.messages',
    getMessage: 'conversations.message',
    stats: 'conversations.stats',
    annotate: 'conversations.annotate',
    complete: 'conversations.complete',
    reopen: 'conversations.reopen',
    archive: 'conversations.archive',
    restore: 'conversations.restore',
    restoreFrom: '– reads any file of the machine; `colloquy restore FILE`',
    restoreLines: 'conversations.restoreArchive',
    at: 'conversations.at',
    replay: 'past.replay',
    branch: 'conversations.branch',
    compare: 'conversations.compare',
    merge: 'conversations.merge',
    search: 'projects.search',
    erase: 'conversations.erase',
    purge: 'conversations.purge',
    export: 'conversations.export',
    getPhase: 'teams.phase',
    transitionPhase: 'teams.transition',
    getPhaseHistory: 'teams.phases',
    startOrchestratorTurn: 'teams.startTurn',
    addCompletionToTurn: 'teams.completeTurn',
    failTurn: 'teams.failTurn',
    undoTurn: 'teams.undoTurn',
    getTurns: 'teams.turns',
    buildOrchestratorRoutingContext: 'teams.routing',
    clearLoop: 'teams.clearLoop',
    releaseRouting: 'teams.releaseRouting',
    delegate: 'teams.delegate',
    completeDelegation: 'teams.completeDelegation',
    abortDelegation: 'teams.abortDelegation',
    getDelegations: 'teams.delegations',
    recordReadFile: 'teams.recordReadFile',
    getReadFiles: 'teams.readFiles',
    mayWrite: 'teams.mayWrite',
    startExecution: 'teams.startExecution',
    stopExecution: 'teams.stopExecution',
    getExecutionTime: 'teams.executionTime',
  },
  agents: {
    run: 'runs.start',
    start: 'runs.startAgent',
    running: 'runs.list',
    cancel: 'runs.stop',
    live: 'operations.events',
    configuredModels: 'runs.models',
    model: '– gives a model opened in this process',
    questions: 'runs.questions',
    question: 'runs.answer',
    answer: 'runs.answer',
  },
  dispatcher: {
    start: 'dispatch.start',
    once: 'dispatch.start',
    status: 'dispatch.status',
    stop: 'dispatch.stop',
    underWay: 'dispatch.status',
    parked: 'dispatch.parked',
    clear: 'dispatch.clear',
  },
  work: {
    addFeature: 'work.addFeature',
    getFeature: 'work.feature',
    listFeatures: 'work.features',
    describeFeature: 'work.describeFeature',
    moveFeature: 'work.moveFeature',
    planTasks: 'work.plan',
    graph: 'work.graph',
    getTask: 'work.task',
    listTasks: 'work.tasks',
    moveTask: 'work.moveTask',
    addBead: 'work.addBead',
    getBead: 'work.bead',
    listBeads: 'work.beads',
    describeBead: 'work.describeBead',
    moveBead: 'work.moveBead',
    ready: 'work.ready',
    stateOf: 'work.state',
    report: 'work.report',
    recordAttempt: 'work.recordAttempt',
    recordWorktree: 'work.recordWorktree',
    forgetWorktree: 'work.forgetWorktree',
    sessionOf: 'work.session',
  },
  team: {
    run: 'building.run',
    ralph: 'building.ralph',
    stop: 'building.stop',
    status: 'building.status',
  },
}

/** Of the object at `at`, of its class and the classes above it. */
function methodsOf(value: object): string[] {
  const names = new Set<string>()
  for (let at: object = value; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value: member }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof member === 'function' && name !== 'constructor') names.add(name)
    }
  }
  return [...names].sort()
}

/** Its own properties, and those that its class makes when they are asked for. */
function partsOf(colloquy: Colloquy): string[] {
  const made = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(colloquy)))
  return [...Object.keys(colloquy), ...made.flatMap(([name, { get }]) => (get ? [name] : []))]
}

describe('over HTTP', () => {
  it('is every public method, or there is a reason', async () => {
    const { colloquy } = await freshColloquy()
    const found: Record<string, string[]> = { colloquy: methodsOf(colloquy) }
    for (const name of partsOf(colloquy)) {
      const part = colloquy[name as keyof Colloquy]
      if (typeof part === 'object') found[name] = methodsOf(part)
    }
    const listed = Object.entries(served).map(([name, methods]) => [name, Object.keys(methods).sort()])
    expect(found).toEqual(Object.fromEntries(listed))
  })

  it('is nothing that is not there', () => {
    const known = new Set(endpoints.map(({ resource, name }) => `${resource}.${name}`))
    const named = Object.values(served).flatMap(methods => Object.values(methods))
    expect(named.filter(name => !name.startsWith('–') && !known.has(name))).toEqual([])
  })
})
