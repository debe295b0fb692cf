/**
 * One step of a run: builds the request and calls the model. A request that is too long for the model is reduced by a
 * compaction first, then by the packer, which needs no model.
 */
import type { Message } from '../../log/views/message.ts'
import { answerOf, type ModelAnswer } from '../../models/answer.ts'
import type { RequestPart } from '../../request/text/provider-message.ts'
import type { RunInput } from './run-input.ts'
import type { RequestTerms, RunPort, RunRequest } from './run-port.ts'

export interface Step {
  answer: ModelAnswer
  /** The newest version the model was sent. */
  seen: number
  budget: number
}

/** Budgets tried after a request was too long. The last one needs no model. */
const reductions: ReadonlyArray<{ share: number; packs: boolean }> = [
  { share: 0.75, packs: false },
  { share: 0.5, packs: true },
]

/** Share of an oversized request that stays word for word when it is compacted. */
const keptShare = 0.3

export async function askModel(port: RunPort, trigger: Message, input: RunInput): Promise<Step> {
  const { model, tools, signal, priority = 'normal' } = input
  const offeredTools = model.takesTools ? tools : []
  const reserve = definitionTokens(offeredTools)
  let terms: Omit<RequestTerms, 'asOf'> = { reserve }
  for (let attempt = 0; ; attempt++) {
    const seen = await port.version()
    const { system, messages, budget, totalTokens } = await port.request(trigger, { ...terms, asOf: seen })
    const definitions = offeredTools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))
    const outsideIds = await port.outsideIds()
    const request = {
      system,
      messages: await withImages(messages, port),
      ...(definitions.length > 0 && { tools: definitions }),
      signal,
      priority,
      cache: { stableMessages: messages.length - 1 },
      ...(Object.keys(outsideIds).length > 0 && { outsideIds }),
    }
    const answer = await answerOf(model, request, part => port.live(part))
    const reduction = reductions[attempt]
    if (answer.ok || answer.failure.kind !== 'context-too-long' || !reduction) return { answer, seen, budget }
    // The budget must shrink below what was just refused.
    const smaller = Math.max(1, Math.floor(totalTokens * reduction.share))
    if (attempt === 0) await port.compact({ tokens: Math.floor(totalTokens * keptShare), budget: smaller })
    terms = {
      reserve,
      budget: smaller + reserve,
      ...(reduction.packs && { strategy: { name: 'sliding_window' } }),
    }
  }
}

/** Reads the images that messages name. A missing one is left as its name. */
async function withImages(messages: RunRequest['messages'], port: RunPort): Promise<RunRequest['messages']> {
  if (!messages.some(({ content }) => content.some(part => part.type === 'image'))) return messages
  const withData = async (part: RequestPart): Promise<RequestPart> => {
    if (part.type !== 'image' || part.path === undefined) return part
    const data = await port.image(part.path)
    return data ? { ...part, data } : part
  }
  return Promise.all(
    messages.map(async ({ role, content }) => ({ role, content: await Promise.all(content.map(withData)) })),
  )
}

/** Estimated by characters, which is close enough for schemas and errs on the high side. */
function definitionTokens(tools: RunInput['tools']): number {
  if (tools.length === 0) return 0
  const characters = tools.reduce((sum, tool) => sum + definitionCharacters(tool), 0)
  return Math.ceil(characters / 3) + tools.length * 10
}

const schemaCharacters = new WeakMap<object, number>()

function definitionCharacters({ name, description, inputSchema }: RunInput['tools'][number]): number {
  let characters = schemaCharacters.get(inputSchema)
  if (characters === undefined) {
    characters = JSON.stringify(inputSchema).length
    schemaCharacters.set(inputSchema, characters)
  }
  return name.length + description.length + characters
}
