/**
 * Every error Colloquy throws on purpose. A plain list.
 *
 * Inside the process they are classes; over a wire their `code` stands for them. Each says what happened, carries the
 * facts as fields, and tells the catcher what to do. Failures of models and tools are events, not errors.
 */

export abstract class ColloquyError extends Error {
  /** Stable name of the error over a wire and in exit messages. */
  abstract readonly code: string
  /** The HTTP status that says the same. */
  abstract readonly status: number
  /** The facts, for machines. */
  readonly facts: Readonly<Record<string, unknown>>

  constructor(message: string, facts: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.facts = facts
  }
}

/** The log moved on between the caller's read and its append. Read again, decide again, append again. */
export class VersionConflict extends ColloquyError {
  override readonly code = 'log/version-conflict'
  override readonly status = 409
  readonly expected: number
  readonly actual: number

  constructor(facts: { conversationId: string; expected: number; actual: number }) {
    super(
      `Conversation ${facts.conversationId} is at version ${facts.actual}, not ${facts.expected}. Nothing was written: read it again and decide again.`,
      facts,
    )
    this.expected = facts.expected
    this.actual = facts.actual
  }
}

/** The idempotency key was used before for something else. Use a fresh key for a different write. */
export class KeyReused extends ColloquyError {
  override readonly code = 'log/key-reused'
  override readonly status = 409

  constructor(key: string) {
    super(`The idempotency key "${key}" was used before with a different body. Use a new key for a new write.`, { key })
  }
}

/** A position that this store did not hand out, or handed out before it was restored or copied. Start over. */
export class PositionUnknown extends ColloquyError {
  override readonly code = 'log/position-unknown'
  override readonly status = 410

  constructor(position: string, reason: string) {
    super(
      `Cannot resume from position "${position}": ${reason}. Subscribe from 'start' and rebuild what you derived.`,
      {
        position,
        reason,
      },
    )
  }
}

/** Somebody else holds the lease. Try again after `expiresAt`, or leave the work to the holder. */
export class LeaseHeld extends ColloquyError {
  override readonly code = 'lease/held'
  override readonly status = 409

  constructor(facts: { name: string; holder: string; expiresAt: string }) {
    super(`"${facts.name}" is held by ${facts.holder} until ${facts.expiresAt}.`, facts)
  }
}

/** The lease ran out or was taken over: what its old holder writes is refused. Claim again before going on. */
export class LeaseLost extends ColloquyError {
  override readonly code = 'lease/lost'
  override readonly status = 409

  constructor(facts: { name: string; generation: number }) {
    super(
      `The lease "${facts.name}" (generation ${facts.generation}) is no longer held. Nothing was written: stop, or claim it again.`,
      facts,
    )
  }
}

/** The agent has acknowledged this message already: another run answered it. There is nothing to do. */
export class AlreadyAnswered extends ColloquyError {
  override readonly code = 'team/already-answered'
  override readonly status = 409

  constructor(facts: { conversationId: string; agent: string; version: number; acknowledged: number }) {
    super(
      `${facts.agent} has acknowledged message ${facts.version} of conversation ${facts.conversationId} already (up to ${facts.acknowledged}).`,
      facts,
    )
  }
}

/** The input breaks a rule. Correct the named field and call again; nothing was written. */
export class InvalidInput extends ColloquyError {
  override readonly code = 'input/invalid'
  override readonly status = 400
  readonly field: string

  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`, { field, reason })
    this.field = field
  }
}

/** A project's configuration says something that cannot be. Correct the named field; nothing was opened. */
export class ConfigurationInvalid extends ColloquyError {
  override readonly code = 'configuration/invalid'
  override readonly status = 500
  readonly field: string

  constructor(facts: { from: string; line?: number; field: string; reason: string; nearest?: string }) {
    const place = facts.line === undefined ? facts.from : `${facts.from}:${facts.line}`
    super(`${place}: ${facts.field}: ${facts.reason}`, facts)
    this.field = facts.field
  }
}

/**
 * The message is larger than the limit: split it, store it as a file and refer to it, or raise `maxMessageBytes`. Or the
 * named field is too large to stand in the head of a session or conversation: say it in a message.
 */
export class ContentTooLarge extends ColloquyError {
  override readonly code = 'input/too-large'
  override readonly status = 413

  constructor(facts: { bytes: number; limit: number; field?: string }) {
    const { bytes, limit, field } = facts
    super(
      field === undefined
        ? `The message has ${bytes} bytes, the limit is ${limit}. Split it, refer to a file, or raise maxMessageBytes.`
        : `${field}: has ${bytes} bytes, the limit is ${limit}. Shorten it, or say it in a message.`,
      facts,
    )
  }
}

/**
 * The parts of a request that cannot be left out do not fit its budget. No model was called: raise the budget, choose a
 * model with a larger window, or shorten the named section.
 */
export class BudgetTooSmall extends ColloquyError {
  override readonly code = 'request/budget-too-small'
  override readonly status = 422

  constructor(facts: { section: string; needed: number; budget: number }) {
    super(
      `The request needs at least ${facts.needed} tokens and its budget is ${facts.budget}; the largest fixed part is "${facts.section}". Raise the budget or shorten it.`,
      facts,
    )
  }
}

/** The name is no model that can be opened here. The message lists the names that can. */
export class ModelUnknown extends ColloquyError {
  override readonly code = 'model/unknown'
  override readonly status = 400

  constructor(name: string, reason: string) {
    super(`"${name}" names no model: ${reason}`, { name, reason })
  }
}

/** No model is named to run the agent with. Name one: in the call, in the configuration, or with COLLOQUY_MODEL. */
export class ModelMissing extends ColloquyError {
  override readonly code = 'model/missing'
  override readonly status = 400

  constructor(agentType: string) {
    super(
      `No model is configured for the agent ${agentType}. Give one by name, such as anthropic:claude-opus-4-7, ollama:qwen3, 'command:claude -p' or scripted:FILE: with --model, in the environment variable COLLOQUY_MODEL, or under agents.model in colloquy.config.yaml.`,
      { agentType },
    )
  }
}

/** It is switched off in this project. Switch it on under `features` of the configuration. */
export class FeatureOff extends ColloquyError {
  override readonly code = 'feature/off'
  override readonly status = 403

  constructor(facts: { feature: string; project: string }) {
    super(
      `"${facts.feature}" is switched off in project "${facts.project}": features.${facts.feature} in the configuration.`,
      facts,
    )
  }
}

/** A program whose tools agents are to have cannot be used. Check its command in `agents.mcp`, then run again. */
export class ToolServerFailed extends ColloquyError {
  override readonly code = 'tools/server-failed'
  override readonly status = 502

  constructor(facts: { server: string; reason: string }) {
    super(`The MCP server ${facts.server} cannot be used: ${facts.reason}. Check its command in agents.mcp.`, facts)
  }
}

/** The provider wants a key and there is none. Set the environment variable `variable`, then open the model again. */
export class ModelKeyMissing extends ColloquyError {
  override readonly code = 'model/key-missing'
  override readonly status = 401
  readonly variable: string

  constructor(facts: { name: string; variable: string }) {
    super(
      `The model ${facts.name} needs a key. Set the environment variable ${facts.variable} to it and start again.`,
      facts,
    )
    this.variable = facts.variable
  }
}

/** There is no such thing here. Check the id and the project. */
export class NotFound extends ColloquyError {
  override readonly code = 'not-found'
  override readonly status = 404

  constructor(
    what:
      | 'project'
      | 'conversation'
      | 'session'
      | 'message'
      | 'archive'
      | 'checkpoint'
      | 'item'
      | 'token'
      | 'question'
      | 'feature'
      | 'task'
      | 'bead'
      | 'thread',
    id: string,
    hint = '',
  ) {
    const place = what === 'project' ? 'store' : 'project'
    super(`There is no ${what} "${id}" in this ${place}.${hint && ` ${hint}`}`, { what, id })
  }
}

/** The session takes no more messages. Reopen it, or get a new one with `getOrCreateSession`. */
export class SessionClosed extends ColloquyError {
  override readonly code = 'session/closed'
  override readonly status = 409

  constructor(facts: { sessionId: string; sessionStatus: string }) {
    const remedy =
      facts.sessionStatus === 'archived'
        ? 'It can be read; reopenSession makes it writable again.'
        : 'It can be read; getOrCreateSession gives its successor.'
    super(`Session ${facts.sessionId} is ${facts.sessionStatus}. ${remedy}`, facts)
  }
}

/** The conversation is completed or archived and so read-only. Reopen or restore it first. */
export class ConversationClosed extends ColloquyError {
  override readonly code = 'conversation/closed'
  override readonly status = 409

  constructor(facts: { conversationId: string; conversationStatus: string }) {
    const remedy = facts.conversationStatus === 'completed' ? 'reopen' : 'restore'
    super(
      `Conversation ${facts.conversationId} is ${facts.conversationStatus} and read-only; ${remedy} it first.`,
      facts,
    )
  }
}

/** What was asked does not fit the state things are in. The message says which state and what would fit. */
export class IllegalState extends ColloquyError {
  override readonly code = 'state/illegal'
  override readonly status = 409
}

/** The conversation cannot go from the phase it is in to the one that was asked for. `legal` are those it can go to. */
export class PhaseRefused extends ColloquyError {
  override readonly code = 'phase/refused'
  override readonly status = 409
  readonly legal: readonly string[]

  constructor(
    facts: { conversationId: string; from: string | null; to: string; legal: readonly string[] },
    why?: string,
  ) {
    const legal =
      facts.legal.length === 0 ? 'It cannot go anywhere from there.' : `Legal are: ${facts.legal.join(', ')}.`
    super(
      why ??
        `Conversation ${facts.conversationId} is in phase "${facts.from}" and cannot go to "${facts.to}". ${legal}`,
      facts,
    )
    this.legal = facts.legal
  }
}

/** A work item cannot go to that state from the one it is in. Choose one of those named as legal. */
export class MoveRefused extends ColloquyError {
  override readonly code = 'work/move-refused'
  override readonly status = 409
  readonly from: string
  readonly to: string
  readonly legal: readonly string[]

  constructor(facts: { item: string; from: string; to: string; legal: readonly string[] }, why?: string) {
    const legal =
      facts.legal.length === 0 ? 'It cannot go anywhere from there.' : `Legal are: ${facts.legal.join(', ')}.`
    super(
      `${facts.item} is in state "${facts.from}" and cannot go to "${facts.to}"${why ? `: ${why}` : ''}. ${legal}`,
      {
        ...facts,
      },
    )
    this.from = facts.from
    this.to = facts.to
    this.legal = facts.legal
  }
}

/** A work item cannot begin before those it depends on are finished. Finish them, or change its dependencies. */
export class DependenciesOpen extends ColloquyError {
  override readonly code = 'work/dependencies-open'
  override readonly status = 409
  /** Ids of those that are not finished, with their states. */
  readonly open: ReadonlyArray<{ id: string; state: string }>

  constructor(facts: { item: string; open: ReadonlyArray<{ id: string; state: string }> }) {
    const open = facts.open.map(({ id, state }) => `${id} (${state})`).join(', ')
    super(`${facts.item} waits for ${open}. Finish them first, or change its dependencies.`, facts)
    this.open = facts.open
  }
}

/** A change of the task graph, or of dependencies, that does not hold together. Nothing was changed; put it right and send all of it again. */
export class PlanRefused extends ColloquyError {
  override readonly code = 'work/plan-refused'
  override readonly status = 422
  readonly problems: readonly string[]
  /** As it is walked, the first once more at the end. */
  readonly cycle: readonly string[] | undefined

  constructor(facts: { problems: readonly string[]; cycle?: readonly string[] | undefined }) {
    super(`The plan was not changed: ${facts.problems.join(' ')}`, facts)
    this.problems = facts.problems
    this.cycle = facts.cycle
  }
}

/** A turn is still open. Wait for its completions, fail it, or undo it; then route again. */
export class TurnOpen extends ColloquyError {
  override readonly code = 'turn/open'
  override readonly status = 409

  constructor(facts: { conversationId: string; turnId: string; waitingFor: readonly string[] }) {
    super(
      `Turn ${facts.turnId} still waits for ${facts.waitingFor.join(', ')}. Wait, fail it or undo it before routing again.`,
      facts,
    )
  }
}

/** Routing goes in circles and is blocked. Look at the evidence; `clearLoop` lets it go on. */
export class RoutingBlocked extends ColloquyError {
  override readonly code = 'turn/blocked'
  override readonly status = 409
  readonly kind: string
  /** In words. */
  readonly finding: string
  /** Versions of the turns it was seen in. */
  readonly evidence: readonly number[]

  constructor(facts: {
    conversationId: string
    kind: string
    finding: string
    evidence: readonly number[]
    since: number
  }) {
    super(`Routing is blocked since version ${facts.since}: ${facts.finding}. Look into it, then clearLoop.`, facts)
    this.kind = facts.kind
    this.finding = facts.finding
    this.evidence = facts.evidence
  }
}

/** The path leads out of the project, or to what nobody may touch. Give one inside the project's root. */
export class PathRefused extends ColloquyError {
  override readonly code = 'path/refused'
  override readonly status = 403

  constructor(facts: { path: string; reason: string }) {
    super(`"${facts.path}" ${facts.reason}.`, facts)
  }
}

/** Work in a worktree needs a git repository with a commit. Make one (`git init`, then commit), or give another root. */
export class RepositoryMissing extends ColloquyError {
  override readonly code = 'git/no-repository'
  override readonly status = 409

  constructor(facts: { folder: string; reason: string }) {
    super(`${facts.folder} ${facts.reason}. Agents build in a worktree of a git repository: make one there.`, facts)
  }
}

/** Git refused something. Its own words say what; nothing was lost. */
export class GitFailed extends ColloquyError {
  override readonly code = 'git/failed'
  override readonly status = 500

  constructor(facts: { folder: string; command: string; exitCode: number | null; said: string }) {
    super(`git ${facts.command} failed in ${facts.folder}: ${facts.said || `exit code ${facts.exitCode}`}`, facts)
  }
}

/** The worktree has work that is nowhere else. Commit or merge it first, or say that it may be lost. */
export class WorktreeInUse extends ColloquyError {
  override readonly code = 'git/worktree-in-use'
  override readonly status = 409

  constructor(facts: { folder: string; branch: string; reason: string }) {
    super(`The worktree ${facts.folder} of ${facts.branch} was not removed: ${facts.reason}.`, facts)
  }
}

/** The conversation was purged; its archive still has it, and `restore` brings it back. */
export class ConversationPurged extends ColloquyError {
  override readonly code = 'conversation/purged'
  override readonly status = 410

  constructor(facts: { conversationId: string; archive: string }) {
    super(
      `Conversation ${facts.conversationId} was purged; its archive is ${facts.archive}. restore brings it back.`,
      facts,
    )
  }
}

/**
 * Records of the conversation are damaged: its archive could not be restored, so it was not purged. `verify` tells what is
 * wrong, `repair` puts right what can be. Else bring the store back from a backup, or erase the damaged messages, whose
 * content is lost, and purge again.
 */
export class ConversationDamaged extends ColloquyError {
  override readonly code = 'conversation/damaged'
  override readonly status = 409
  readonly damages: ReadonlyArray<{ version: number; what: string }>

  constructor(facts: { conversationId: string; damages: ReadonlyArray<{ version: number; what: string }> }) {
    const named = facts.damages.slice(0, 5).map(({ version, what }) => `version ${version} (${what})`)
    const more = facts.damages.length - named.length
    super(
      `Conversation ${facts.conversationId} is damaged at ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}: an archive of it could not be restored. Nothing was purged. 'colloquy verify' names what is damaged, and 'colloquy verify --repair' puts right what can be; else bring the store back from a backup, or erase the damaged messages, and purge again.`,
      facts,
    )
    this.damages = facts.damages
  }
}

/** Another process kept the write lock for too long. Nothing was written; try again. */
export class StoreBusy extends ColloquyError {
  override readonly code = 'store/busy'
  override readonly status = 503
}

/** The disk is full. Nothing was written; free some room and call again. */
export class StoreFull extends ColloquyError {
  override readonly code = 'store/full'
  override readonly status = 507
}

/** The file, or its folder, cannot be written. Reading works; check permissions and mounts. */
export class StoreReadOnly extends ColloquyError {
  override readonly code = 'store/read-only'
  override readonly status = 503
}

/** The file is damaged. Nothing was overwritten; `colloquy verify --salvage NEW` rescues what can be read. */
export class StoreDamaged extends ColloquyError {
  override readonly code = 'store/damaged'
  override readonly status = 500
}

/** The store cannot be opened: no such place, not a database, too new, too old, bundled. The message says what to do. */
export class StoreUnusable extends ColloquyError {
  override readonly code = 'store/unusable'
  override readonly status = 500
}

/** The operating system failed a read, write or sync. What was not acknowledged may or may not be there. */
export class StoreFailed extends ColloquyError {
  override readonly code = 'store/failed'
  override readonly status = 500
}

/** The store was closed. Open it again. */
export class StoreClosed extends ColloquyError {
  override readonly code = 'store/closed'
  override readonly status = 503

  constructor() {
    super('The store is closed. Open it again with openColloquy.')
  }
}

/** The request breaks the contract in one or several fields. Correct them and send it again; nothing was written. */
export class InvalidRequest extends ColloquyError {
  override readonly code = 'input/invalid'
  override readonly status = 400

  constructor(errors: ReadonlyArray<{ field: string; message: string }>) {
    super(errors.map(({ field, message }) => `${field}: ${message}`).join('; '), { errors })
  }
}

/** The body of a request is not JSON, or does not say so. Send JSON with `content-type: application/json`. */
export class NotJson extends ColloquyError {
  override readonly code = 'input/not-json'
  override readonly status: 400 | 415

  constructor(reason: string, status: 400 | 415) {
    super(reason, { reason })
    this.status = status
  }
}

/** The body of a request is larger than the server takes. Send less, or raise the limit of the server. */
export class BodyTooLarge extends ColloquyError {
  override readonly code = 'input/body-too-large'
  override readonly status = 413

  constructor(limit: number) {
    super(`The body is larger than ${limit} bytes. Send less, or raise the limit of the server.`, { limit })
  }
}

/** The server does not know who asks. Send `authorization: Bearer TOKEN`, or open the address it printed. */
export class AccessRequired extends ColloquyError {
  override readonly code = 'access/required'
  override readonly status = 401

  /** Why what was shown is not enough; undefined when nothing was shown. */
  readonly reason: string | undefined

  constructor(reason?: string) {
    super(
      `${reason ?? 'A token is required'}. Send "authorization: Bearer TOKEN", or open the address that the server printed.`,
    )
    this.reason = reason
  }
}

/** The token is good, but not for this. Use one of that project and scope. */
export class AccessRefused extends ColloquyError {
  override readonly code = 'access/refused'
  override readonly status = 403
}

/** The request names a host, or comes from a page, that the server does not serve. Add it to `hosts` or `origins`. */
export class PlaceRefused extends ColloquyError {
  override readonly code = 'access/place-refused'
  override readonly status = 403

  constructor(facts: { what: 'host' | 'origin'; value: string }) {
    super(`The ${facts.what} "${facts.value}" is not one of this server.`, facts)
  }
}

/** There is no such address. `/api/docs` lists those that are. */
export class NoSuchRoute extends ColloquyError {
  override readonly code = 'route/unknown'
  override readonly status: 404 | 405

  constructor(facts: { method: string; path: string; allowed: readonly string[] }) {
    super(
      facts.allowed.length === 0
        ? `There is nothing at ${facts.path}. /api/docs lists what there is.`
        : `${facts.path} takes ${facts.allowed.join(', ')}, not ${facts.method}.`,
      facts,
    )
    this.status = facts.allowed.length === 0 ? 404 : 405
  }
}

/** Too much at once. Wait `retryAfterSeconds`, then go on. */
export class TooMany extends ColloquyError {
  override readonly code = 'server/too-many'
  override readonly status = 429
  readonly retryAfterSeconds: number

  constructor(what: 'requests' | 'streams' | 'failed attempts', retryAfterSeconds: number) {
    super(`Too many ${what}. Try again in ${retryAfterSeconds} s.`, { what, retryAfterSeconds })
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The server is on its way out. Connect again in a moment. */
export class ServerStopping extends ColloquyError {
  override readonly code = 'server/stopping'
  override readonly status = 503

  constructor() {
    super('The server is stopping. Connect again in a moment.')
  }
}

/** The server may not be started like this. The message says what it takes. */
export class ServerRefused extends ColloquyError {
  override readonly code = 'server/refused'
  override readonly status = 500
}
