/** Runs of agents, and their questions. A run goes on when its client disconnects. */
import { z } from 'zod'
import { Question as OpenQuestion } from '../../conversation/turns/turn-views.ts'
import { MessageInput } from '../../log/commands/message-input.ts'
import { Id } from '../../log/events/id.ts'
import { Usage } from '../../log/events/message.ts'
import { RunOutcome } from '../../log/events/run.ts'
import {
  api,
  ConversationPath,
  inProject,
  named,
  ofConversation,
  ofSession,
  Project,
  QueryFlag,
  SessionPath,
} from './common.ts'
import { endpoint } from './endpoint.ts'

const runFields = {
  /** Stored first, then answered. */
  message: z.union([z.string().min(1), MessageInput]).optional(),
  /** Answers this stored message. */
  trigger: z.strictObject({ messageId: Id }).optional(),
  /** Continues what was interrupted, failed or still waits, as an empty body does. */
  retry: z.literal(true).optional(),
  /** Default: the session's, the agent type's, the project's. */
  model: z.string().min(1).max(1000).optional(),
  priority: z.enum(['person', 'normal', 'background']).optional(),
  maxSteps: z.int().positive().max(10_000).optional(),
  answerWithinMs: z.int().positive().max(2_147_483_647).optional(),
  /** Stops a run of the session and takes its place. */
  supersedes: z.boolean().optional(),
  /** While another run has the session, waits for its end. Always so with a message. */
  waits: z.boolean().optional(),
}

const saysOneThing = (body: { message?: unknown; trigger?: unknown; retry?: unknown } | undefined) =>
  [body?.message, body?.trigger, body?.retry].filter(one => one !== undefined).length < 2
const oneThing = { message: 'says more than one of message, trigger and retry' }

const Wait = z.object({
  /** Answers when the run has ended, with how it went. */
  wait: QueryFlag.optional(),
})

export const Run = named(
  'Run',
  z.object({
    /** `waiting`: another run has the session; the message is stored. */
    state: z.enum(['running', 'waiting', 'ended']),
    runId: z.string().optional(),
    sessionId: z.string(),
    conversationId: z.string(),
    agent: z.string(),
    model: z.string(),
    /** The message it answers. */
    messageId: z.string().optional(),
    outcome: RunOutcome.optional(),
    reason: z.string().optional(),
    /** Its last answer, and the id of that message. */
    text: z.string().optional(),
    answerId: z.string().optional(),
    steps: z.int().optional(),
    toolCalls: z.int().optional(),
    usage: Usage.optional(),
  }),
)

export const RunningRun = named(
  'RunningRun',
  z.object({
    runId: z.string(),
    sessionId: z.string(),
    conversationId: z.string(),
    title: z.string(),
    agent: z.string(),
    startedAt: z.string(),
    /** It runs in this server, and can be stopped here. */
    isHere: z.boolean(),
    /** Its process is gone; the next sweep or run records that. */
    isDead: z.boolean(),
  }),
)

export const Question = named('Question', OpenQuestion.extend({ project: z.string() }))

const OfConversation = z.object({ conversation: Id.optional() })
const statusOf = ({ state }: z.input<typeof Run>) => (state === 'ended' ? 200 : 202)

export const runs = {
  start: endpoint({
    method: 'post',
    path: `${ofSession}/runs`,
    scope: 'write',
    summary: "Runs the session's agent; answers 202 when it has started, with wait=true 200 at its end",
    params: SessionPath,
    query: Wait,
    body: z.strictObject(runFields).refine(saysOneThing, oneThing).optional(),
    answer: Run,
    status: 202,
    statusOf,
    keyed: true,
  }),
  startAgent: endpoint({
    method: 'post',
    path: `${ofConversation}/runs`,
    scope: 'write',
    summary: 'Runs an agent of the conversation; a session is made for one that has none',
    params: ConversationPath,
    query: Wait,
    body: z.strictObject({ agent: Id, agentType: Id.optional(), ...runFields }).refine(saysOneThing, oneThing),
    answer: Run,
    status: 202,
    statusOf,
    keyed: true,
  }),
  stop: endpoint({
    method: 'post',
    path: `${ofSession}/runs/stop`,
    scope: 'write',
    summary: "Stops the session's run, and answers when it has stopped; its partial answer is kept",
    params: SessionPath,
    answer: z.object({ stopped: z.boolean() }),
  }),
  list: endpoint({
    method: 'get',
    path: `${inProject}/runs`,
    scope: 'read',
    summary: 'Runs in progress in any process, oldest first',
    params: Project,
    query: OfConversation,
    answer: z.object({ items: z.array(RunningRun) }),
  }),
  models: endpoint({
    method: 'get',
    path: `${inProject}/models`,
    scope: 'read',
    summary: "Names of the models that the project's settings have chosen",
    params: Project,
    answer: z.object({ items: z.array(z.object({ name: z.string() })) }),
  }),
  questions: endpoint({
    method: 'get',
    path: `${inProject}/questions`,
    scope: 'read',
    summary: 'Questions and approvals that agents wait for, oldest first',
    params: Project,
    query: OfConversation,
    answer: z.object({ items: z.array(Question) }),
  }),
  allQuestions: endpoint({
    method: 'get',
    path: `${api}/questions`,
    scope: 'read',
    summary: 'The same for every project that the token is valid for',
    answer: z.object({ items: z.array(Question) }),
  }),
  answer: endpoint({
    method: 'post',
    path: `${inProject}/questions/{questionId}/answer`,
    scope: 'write',
    summary: 'Answers a question; the run goes on with it. An approval needs an admin token',
    params: Project.extend({ questionId: Id }),
    body: z.strictObject({
      answer: z.string().min(1).max(100_000),
      /** The question has it. With it, a lost answer can be repeated under its key. */
      conversationId: Id.optional(),
    }),
    answer: Question,
    keyed: true,
  }),
}
