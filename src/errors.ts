/**
 * All errors that Colloquy throws on purpose.
 *
 * Inside the process they are classes; HTTP and the command line have their `code`. Each says what happened, that nothing
 * was written, and what to do. Failures of models and tools are events, not errors.
 */

export abstract class ColloquyError extends Error {
  /** Stable name of the error, over HTTP and on the command line. */
  abstract readonly code: string
  /** HTTP status of the error. */
  abstract readonly status: number
  /** The facts of the message, for programs. */
  readonly facts: Readonly<Record<string, unknown>>

  constructor(message: string, facts: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.facts = facts
  }
}

/** Another writer appended between the caller's read and its append. Nothing was written: read again, then decide and append again. */
export class VersionConflict extends ColloquyError {
  override readonly code = 'log/version-conflict'
  override readonly status = 409
  readonly expected: number
  readonly actual: number

  constructor(facts: { conversationId: string; expected: number; actual: number }) {
    super(
      `Conversation ${facts.conversationId} is at version ${facts.actual}, not ${facts.expected}. Nothing was written. Read it again and decide again.`,
      facts,
    )
    this.expected = facts.expected
    this.actual = facts.actual
  }
}

/** The idempotency key belongs to a different write. Nothing was written: use a new key. */
export class KeyReused extends ColloquyError {
  override readonly code = 'log/key-reused'
  override readonly status = 409

  constructor(key: string) {
    super(`The idempotency key "${key}" was used before with a different body. Nothing was written. Use a new key.`, {
      key,
    })
  }
}

/** The position comes from another store, or from this one before it was restored or copied. Subscribe from `start`. */
export class PositionUnknown extends ColloquyError {
  override readonly code = 'log/position-unknown'
  override readonly status = 410

  constructor(position: string, reason: string) {
    super(
      `Cannot resume from position "${position}": ${reason}. Subscribe from 'start', and rebuild what you derived from older updates.`,
      {
        position,
        reason,
      },
    )
  }
}

/** Another process or caller holds the lease. Nothing was written: try again after `expiresAt`, or leave the work to the holder. */
export class LeaseHeld extends ColloquyError {
  override readonly code = 'lease/held'
  override readonly status = 409

  constructor(facts: { name: string; holder: string; expiresAt: string }) {
    super(
      `The lease "${facts.name}" is held by ${facts.holder} until ${facts.expiresAt}. Nothing was written. Try again later, or leave the work to the holder.`,
      facts,
    )
  }
}

/** The lease expired or was taken over, so writes of its old holder are refused. Claim it again before you continue. */
export class LeaseLost extends ColloquyError {
  override readonly code = 'lease/lost'
  override readonly status = 409

  constructor(facts: { name: string; generation: number }) {
    super(
      `The lease "${facts.name}" (generation ${facts.generation}) is no longer held. Nothing was written. Stop, or claim it again.`,
      facts,
    )
  }
}

/** The agent has acknowledged this message already, because another run answered it. There is nothing to do. */
export class AlreadyAnswered extends ColloquyError {
  override readonly code = 'team/already-answered'
  override readonly status = 409

  constructor(facts: { conversationId: string; agent: string; version: number; acknowledged: number }) {
    super(
      `${facts.agent} has acknowledged message ${facts.version} of conversation ${facts.conversationId} already (up to ${facts.acknowledged}). Nothing was written; there is nothing to do.`,
      facts,
    )
  }
}

/** A field of the input is invalid. Nothing was written: correct the named field and call again. */
export class InvalidInput extends ColloquyError {
  override readonly code = 'input/invalid'
  override readonly status = 400
  readonly field: string

  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`, { field, reason })
    this.field = field
  }
}

/** A field of the configuration is invalid. Nothing was opened: correct the named field. */
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
 * The message is larger than the limit: split it, store it as a file and refer to that, or raise `maxMessageBytes`. With a
 * `field`, that field of a session or conversation is too large: shorten it, or write it in a message.
 */
export class ContentTooLarge extends ColloquyError {
  override readonly code = 'input/too-large'
  override readonly status = 413

  constructor(facts: { bytes: number; limit: number; field?: string }) {
    const { bytes, limit, field } = facts
    super(
      field === undefined
        ? `The message has ${bytes} bytes; the limit is ${limit}. Nothing was written. Split it, refer to a file, or raise maxMessageBytes.`
        : `${field}: has ${bytes} bytes; the limit is ${limit}. Nothing was written. Shorten it, or write it in a message.`,
      facts,
    )
  }
}

/**
 * The mandatory parts of a request exceed its budget. No model was called: raise the budget, choose a model with a larger
 * window, or shorten the named section.
 */
export class BudgetTooSmall extends ColloquyError {
  override readonly code = 'request/budget-too-small'
  override readonly status = 422

  constructor(facts: { section: string; needed: number; budget: number }) {
    super(
      `The request needs at least ${facts.needed} tokens and its budget is ${facts.budget}; the largest fixed part is "${facts.section}". No model was called. Raise the budget or shorten that part.`,
      facts,
    )
  }
}

/** The model cannot be opened by this name. The message says why, or lists the known names. */
export class ModelUnknown extends ColloquyError {
  override readonly code = 'model/unknown'
  override readonly status = 400

  constructor(name: string, reason: string) {
    super(`The model "${name}" cannot be opened: ${reason}`, { name, reason })
  }
}

/** The agent has no model. Name one in the call, in the configuration, or with COLLOQUY_MODEL. */
export class ModelMissing extends ColloquyError {
  override readonly code = 'model/missing'
  override readonly status = 400

  constructor(agentType: string) {
    super(
      `No model is configured for the agent ${agentType}. No model was called. Name one, such as anthropic:claude-opus-4-7, ollama:qwen3, 'command:claude -p' or scripted:FILE: with --model, in the environment variable COLLOQUY_MODEL, or under agents.model in colloquy.config.yaml.`,
      { agentType },
    )
  }
}

/** The feature is switched off in this project. Switch it on under `features` of the configuration. */
export class FeatureOff extends ColloquyError {
  override readonly code = 'feature/off'
  override readonly status = 403

  constructor(facts: { feature: string; project: string }) {
    super(
      `"${facts.feature}" is switched off in project "${facts.project}". Nothing was written. Set features.${facts.feature} in its configuration.`,
      facts,
    )
  }
}

/** An MCP server cannot be used. Check its command in `agents.mcp`, then run again. */
export class ToolServerFailed extends ColloquyError {
  override readonly code = 'tools/server-failed'
  override readonly status = 502

  constructor(facts: { server: string; reason: string }) {
    super(`The MCP server ${facts.server} cannot be used: ${facts.reason}. Check its command in agents.mcp.`, facts)
  }
}

/** The key of the provider is missing. Set the environment variable `variable`, then open the model again. */
export class ModelKeyMissing extends ColloquyError {
  override readonly code = 'model/key-missing'
  override readonly status = 401
  readonly variable: string

  constructor(facts: { name: string; variable: string }) {
    super(
      `The model ${facts.name} needs a key. No model was opened. Set the environment variable ${facts.variable} to the key, then start again.`,
      facts,
    )
    this.variable = facts.variable
  }
}

/** Nothing in this project has this id. Check the id and the project. */
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

/** The session is closed. Nothing was written: reopen it, or get a new one with `getOrCreateSession`. */
export class SessionClosed extends ColloquyError {
  override readonly code = 'session/closed'
  override readonly status = 409

  constructor(facts: { sessionId: string; sessionStatus: string }) {
    const remedy =
      facts.sessionStatus === 'archived'
        ? 'Nothing was written. reopenSession makes it writable again.'
        : 'Nothing was written. getOrCreateSession returns its successor.'
    super(`Session ${facts.sessionId} is ${facts.sessionStatus}. ${remedy}`, facts)
  }
}

/** The conversation is completed or archived, and read-only. Nothing was written: reopen or restore it first. */
export class ConversationClosed extends ColloquyError {
  override readonly code = 'conversation/closed'
  override readonly status = 409

  constructor(facts: { conversationId: string; conversationStatus: string }) {
    const remedy = facts.conversationStatus === 'completed' ? 'reopen' : 'restore'
    super(
      `Conversation ${facts.conversationId} is ${facts.conversationStatus} and read-only. Nothing was written; ${remedy} it first.`,
      facts,
    )
  }
}

/** The call is not possible in the current state. The message names the state and what to do. */
export class IllegalState extends ColloquyError {
  override readonly code = 'state/illegal'
  override readonly status = 409
}

/** The conversation cannot change from its phase to the requested one. `legal` lists the possible phases. */
export class PhaseRefused extends ColloquyError {
  override readonly code = 'phase/refused'
  override readonly status = 409
  readonly legal: readonly string[]

  constructor(
    facts: { conversationId: string; from: string | null; to: string; legal: readonly string[] },
    why?: string,
  ) {
    const legal = facts.legal.length === 0 ? 'No phase can follow.' : `Legal are: ${facts.legal.join(', ')}.`
    super(
      why ??
        `Conversation ${facts.conversationId} is in phase "${facts.from}" and cannot change to "${facts.to}". Nothing was written. ${legal}`,
      facts,
    )
    this.legal = facts.legal
  }
}

/** The work item cannot move from its state to the requested one. Nothing was written: choose a state in `legal`. */
export class MoveRefused extends ColloquyError {
  override readonly code = 'work/move-refused'
  override readonly status = 409
  readonly from: string
  readonly to: string
  readonly legal: readonly string[]

  constructor(facts: { item: string; from: string; to: string; legal: readonly string[] }, why?: string) {
    const legal = facts.legal.length === 0 ? 'No state can follow.' : `Legal are: ${facts.legal.join(', ')}.`
    super(
      `${facts.item} is in state "${facts.from}" and cannot move to "${facts.to}"${why ? `: ${why}` : ''}. Nothing was written. ${legal}`,
      {
        ...facts,
      },
    )
    this.from = facts.from
    this.to = facts.to
    this.legal = facts.legal
  }
}

/** The work item has unfinished dependencies. Nothing was written: finish them, or change the dependencies. */
export class DependenciesOpen extends ColloquyError {
  override readonly code = 'work/dependencies-open'
  override readonly status = 409
  /** Unfinished dependencies with their states. */
  readonly open: ReadonlyArray<{ id: string; state: string }>

  constructor(facts: { item: string; open: ReadonlyArray<{ id: string; state: string }> }) {
    const open = facts.open.map(({ id, state }) => `${id} (${state})`).join(', ')
    super(`${facts.item} waits for ${open}. Nothing was written. Finish them first, or change its dependencies.`, facts)
    this.open = facts.open
  }
}

/** The change of tasks or dependencies is contradictory. Nothing was changed: correct it and send all of it again. */
export class PlanRefused extends ColloquyError {
  override readonly code = 'work/plan-refused'
  override readonly status = 422
  readonly problems: readonly string[]
  /** Ids along the cycle; the first is repeated at the end. */
  readonly cycle: readonly string[] | undefined

  constructor(facts: { problems: readonly string[]; cycle?: readonly string[] | undefined }) {
    super(`The plan was not changed: ${facts.problems.join(' ')}`, facts)
    this.problems = facts.problems
    this.cycle = facts.cycle
  }
}

/** A turn is still open. Nothing was written: wait for its completions, fail it or undo it, then route again. */
export class TurnOpen extends ColloquyError {
  override readonly code = 'turn/open'
  override readonly status = 409

  constructor(facts: { conversationId: string; turnId: string; waitingFor: readonly string[] }) {
    super(
      `Turn ${facts.turnId} still waits for ${facts.waitingFor.join(', ')}. Nothing was written. Wait, fail it or undo it before routing again.`,
      facts,
    )
  }
}

/** A routing loop was found, and routing is blocked. Look at the evidence; `clearLoop` resumes routing. */
export class RoutingBlocked extends ColloquyError {
  override readonly code = 'turn/blocked'
  override readonly status = 409
  readonly kind: string
  /** Description of the loop. */
  readonly finding: string
  /** Versions of the turns of the loop. */
  readonly evidence: readonly number[]

  constructor(facts: {
    conversationId: string
    kind: string
    finding: string
    evidence: readonly number[]
    since: number
  }) {
    super(
      `Routing is blocked since version ${facts.since}: ${facts.finding}. Nothing was written. Look into it, then call clearLoop.`,
      facts,
    )
    this.kind = facts.kind
    this.finding = facts.finding
    this.evidence = facts.evidence
  }
}

/** The path is outside the project's root, or protected. Name a path inside the root. */
export class PathRefused extends ColloquyError {
  override readonly code = 'path/refused'
  override readonly status = 403

  constructor(facts: { path: string; reason: string }) {
    super(`"${facts.path}" ${facts.reason}.`, facts)
  }
}

/** A worktree needs a git repository with a commit. Create one (`git init`, then commit), or set another root. */
export class RepositoryMissing extends ColloquyError {
  override readonly code = 'git/no-repository'
  override readonly status = 409

  constructor(facts: { folder: string; reason: string }) {
    super(
      `${facts.folder} ${facts.reason}. Agents build in a git worktree. Run git init there and commit, or set another root.`,
      facts,
    )
  }
}

/** A git command failed. The message has its output; no work was lost. */
export class GitFailed extends ColloquyError {
  override readonly code = 'git/failed'
  override readonly status = 500

  constructor(facts: { folder: string; command: string; exitCode: number | null; said: string }) {
    super(`git ${facts.command} failed in ${facts.folder}: ${facts.said || `exit code ${facts.exitCode}`}`, facts)
  }
}

/** The worktree has work that is not merged. It was not removed: commit and merge the work first. */
export class WorktreeInUse extends ColloquyError {
  override readonly code = 'git/worktree-in-use'
  override readonly status = 409

  constructor(facts: { folder: string; branch: string; reason: string }) {
    super(
      `The worktree ${facts.folder} of ${facts.branch} was not removed: ${facts.reason}. Commit and merge its work first.`,
      facts,
    )
  }
}

/** The conversation was purged. `restore` writes it back from its archive. */
export class ConversationPurged extends ColloquyError {
  override readonly code = 'conversation/purged'
  override readonly status = 410

  constructor(facts: { conversationId: string; archive: string }) {
    super(
      `Conversation ${facts.conversationId} was purged; its archive is ${facts.archive}. restore writes it back.`,
      facts,
    )
  }
}

/**
 * Records of the conversation are damaged. It was not purged, because its archive could not be restored. `verify` lists
 * the damage, `repair` fixes what can be fixed. Otherwise restore a backup of the store, or erase the damaged messages,
 * whose content is lost; then purge again.
 */
export class ConversationDamaged extends ColloquyError {
  override readonly code = 'conversation/damaged'
  override readonly status = 409
  readonly damages: ReadonlyArray<{ version: number; what: string }>

  constructor(facts: { conversationId: string; damages: ReadonlyArray<{ version: number; what: string }> }) {
    const named = facts.damages.slice(0, 5).map(({ version, what }) => `version ${version} (${what})`)
    const more = facts.damages.length - named.length
    super(
      `Conversation ${facts.conversationId} is damaged at ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}: an archive of it could not be restored. Nothing was purged. 'colloquy verify' lists the damage, and 'colloquy verify --repair' fixes what can be fixed. Otherwise restore a backup of the store, or erase the damaged messages, and purge again.`,
      facts,
    )
    this.damages = facts.damages
  }
}

/** Another process held the write lock for too long. Nothing was written: try again. */
export class StoreBusy extends ColloquyError {
  override readonly code = 'store/busy'
  override readonly status = 503
}

/** The disk is full. Nothing was written: free some space and call again. */
export class StoreFull extends ColloquyError {
  override readonly code = 'store/full'
  override readonly status = 507
}

/** The file or its folder is read-only. Nothing was written: check permissions and mounts. Reading works. */
export class StoreReadOnly extends ColloquyError {
  override readonly code = 'store/read-only'
  override readonly status = 503
}

/** The file is damaged. Nothing was overwritten: `colloquy verify --salvage NEW` rescues the readable rows. */
export class StoreDamaged extends ColloquyError {
  override readonly code = 'store/damaged'
  override readonly status = 500
}

/** The store cannot be opened: missing, not a database, too new, too old, or bundled. The message says what to do. */
export class StoreUnusable extends ColloquyError {
  override readonly code = 'store/unusable'
  override readonly status = 500
}

/** A read, write or sync failed. A write that was not acknowledged may be stored: repeat it with its idempotency key. */
export class StoreFailed extends ColloquyError {
  override readonly code = 'store/failed'
  override readonly status = 500
}

/** The store is closed. Open it again. */
export class StoreClosed extends ColloquyError {
  override readonly code = 'store/closed'
  override readonly status = 503

  constructor() {
    super('The store is closed. Nothing was written. Open it again with openColloquy.')
  }
}

/** Fields of the request are invalid. Nothing was written: correct them and send it again. */
export class InvalidRequest extends ColloquyError {
  override readonly code = 'input/invalid'
  override readonly status = 400

  constructor(errors: ReadonlyArray<{ field: string; message: string }>) {
    super(errors.map(({ field, message }) => `${field}: ${message}`).join('; '), { errors })
  }
}

/** The body of the request is not JSON, or has another content type. Send JSON with `content-type: application/json`. */
export class NotJson extends ColloquyError {
  override readonly code = 'input/not-json'
  override readonly status: 400 | 415

  constructor(reason: string, status: 400 | 415) {
    super(reason, { reason })
    this.status = status
  }
}

/** The body of the request exceeds the limit. Nothing was written: send less, or raise `limits.bodyBytes`. */
export class BodyTooLarge extends ColloquyError {
  override readonly code = 'input/body-too-large'
  override readonly status = 413

  constructor(limit: number) {
    super(`The body is larger than ${limit} bytes. Nothing was written. Send less, or raise the limit of the server.`, {
      limit,
    })
  }
}

/** The request has no valid token. Send `authorization: Bearer TOKEN`, or open the address that the server printed. */
export class AccessRequired extends ColloquyError {
  override readonly code = 'access/required'
  override readonly status = 401

  /** Reason why the token is refused; undefined when there was no token. */
  readonly reason: string | undefined

  constructor(reason?: string) {
    super(
      `${reason ?? 'A token is required'}. Send "authorization: Bearer TOKEN", or open the address that the server printed.`,
    )
    this.reason = reason
  }
}

/** The token is valid, but not for this call. Use a token of the project and scope. */
export class AccessRefused extends ColloquyError {
  override readonly code = 'access/refused'
  override readonly status = 403
}

/** The host or origin of the request is not allowed. Add it to `hosts` or `origins` of the server. */
export class PlaceRefused extends ColloquyError {
  override readonly code = 'access/place-refused'
  override readonly status = 403

  constructor(facts: { what: 'host' | 'origin'; value: string }) {
    super(
      `The ${facts.what} "${facts.value}" is not allowed. Add it to ${facts.what}s in the settings of the server.`,
      facts,
    )
  }
}

/** No endpoint has this path and method. `/api/docs` lists the endpoints. */
export class NoSuchRoute extends ColloquyError {
  override readonly code = 'route/unknown'
  override readonly status: 404 | 405

  constructor(facts: { method: string; path: string; allowed: readonly string[] }) {
    super(
      facts.allowed.length === 0
        ? `There is no endpoint ${facts.path}. /api/docs lists the endpoints.`
        : `${facts.path} takes ${facts.allowed.join(', ')}, not ${facts.method}.`,
      facts,
    )
    this.status = facts.allowed.length === 0 ? 404 : 405
  }
}

/** Too many requests, streams or failed attempts. Wait `retryAfterSeconds`, then try again. */
export class TooMany extends ColloquyError {
  override readonly code = 'server/too-many'
  override readonly status = 429
  readonly retryAfterSeconds: number

  constructor(what: 'requests' | 'streams' | 'failed attempts', retryAfterSeconds: number) {
    super(`Too many ${what}. Try again in ${retryAfterSeconds} s.`, { what, retryAfterSeconds })
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The server is shutting down. Connect again in a moment. */
export class ServerStopping extends ColloquyError {
  override readonly code = 'server/stopping'
  override readonly status = 503

  constructor() {
    super('The server is stopping. Connect again in a moment.')
  }
}

/** The server was not started, because its settings are not safe. The message says what to change. */
export class ServerRefused extends ColloquyError {
  override readonly code = 'server/refused'
  override readonly status = 500
}
