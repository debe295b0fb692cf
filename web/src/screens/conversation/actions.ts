/**
 * Actions on a conversation and its messages: each asks for confirmation where it matters, reports the result, and
 * offers an undo.
 */
import type { Client, Conversation, MessageAdded } from 'colloquy/client'
import { ask } from '../../components/ask.tsx'
import type { MenuItem } from '../../components/menu.tsx'
import { tell, tellFailure } from '../../components/notices.tsx'
import { textOf } from '../../message/message.tsx'
import { address } from '../../router/address.ts'
import { travelTo } from '../../router/at.ts'
import { base } from '../../router/base.ts'
import { go, goWith } from '../../router/router.tsx'

interface Place {
  client: Client
  project: string
  conversationId: string
}

/** Runs an action and reports its failure. */
function attempt(doing: () => Promise<unknown>): void {
  doing().catch(tellFailure)
}

/** @param at the past version being viewed, which can be branched from but not changed */
export function conversationActions(place: Place, now: Conversation, at?: number): MenuItem[] {
  if (at !== undefined) {
    return [
      { label: 'Branch here…', hint: `At version ${at}`, onChoose: () => attempt(() => branch(place, at)) },
      { label: 'Back to now', onChoose: () => travelTo(undefined) },
      ...always(place),
    ]
  }
  const { status, title, branchOf, mergedInto } = now
  const isOpen = status === 'active'
  return [
    { label: 'Rename…', isDisabled: !isOpen, onChoose: () => attempt(() => rename(place, title)) },
    { label: 'Change phase…', isDisabled: !isOpen, onChoose: () => attempt(() => changePhase(place)) },
    ...(status === 'completed'
      ? [{ label: 'Reopen', onChoose: () => attempt(() => reopen(place)) }]
      : [{ label: 'Complete…', isDisabled: !isOpen, onChoose: () => attempt(() => complete(place)) }]),
    status === 'archived'
      ? { label: 'Restore', onChoose: () => attempt(() => restore(place)) }
      : { label: 'Archive…', onChoose: () => attempt(() => archive(place)) },
    { label: 'Branch from here…', onChoose: () => attempt(() => branch(place, undefined)) },
    ...(branchOf && !mergedInto
      ? [{ label: 'Merge into its parent…', onChoose: () => attempt(() => merge(place)) }]
      : []),
    { label: 'Take back the last turn…', isDisabled: !isOpen, onChoose: () => attempt(() => undoTurn(place)) },
    { label: 'Acknowledge a loop…', isDisabled: !isOpen, onChoose: () => attempt(() => acknowledgeLoop(place)) },
    { label: 'Look back in time', hint: 'Every panel as it was', onChoose: () => travelTo(now.version) },
    ...always(place),
  ]
}

function always(place: Place): MenuItem[] {
  const { conversationId } = place
  return [
    { label: 'Export', hint: 'Every event with its hashes, as lines of JSON', onChoose: () => exportLines(place) },
    {
      label: 'Copy id',
      onChoose: () =>
        attempt(async () => {
          await navigator.clipboard.writeText(conversationId)
          tell('The id is in the clipboard.')
        }),
    },
  ]
}

export function messageActions(
  place: Place,
  message: MessageAdded,
  version: number,
  { isPinned, isPast }: { isPinned: boolean; isPast: boolean },
): MenuItem[] {
  const link = () => address([place.project, 'conversations', place.conversationId], { v: version })
  return [
    { label: 'Copy text', onChoose: () => attempt(() => navigator.clipboard.writeText(textOf(message))) },
    {
      label: 'Copy link',
      onChoose: () => attempt(() => navigator.clipboard.writeText(`${base()}/${link()}`)),
    },
    ...(isPast
      ? []
      : [
          {
            label: isPinned ? 'Unpin' : 'Pin',
            hint: 'A pinned message stays in every request word for word',
            onChoose: () => attempt(() => pin(place, message.messageId, !isPinned)),
          },
        ]),
    { label: 'Branch here…', onChoose: () => attempt(() => branch(place, version)) },
    { label: 'Look at this moment', hint: 'Every panel as it was', onChoose: () => travelTo(version) },
  ]
}

export async function jumpToVersion(newest: number): Promise<void> {
  const given = await ask({
    title: 'Jump to a version',
    text: `The newest is ${newest}.`,
    confirm: 'Jump',
    field: { label: 'Version', isNeeded: true },
  })
  const version = Math.max(1, Math.min(newest, Number.parseInt(given?.text ?? '', 10)))
  if (!Number.isNaN(version)) goWith({ v: version })
}

async function rename({ client, conversationId }: Place, title: string): Promise<void> {
  const given = await ask({
    title: 'Rename',
    text: 'The old title stays in the log.',
    confirm: 'Rename',
    field: { label: 'Title', value: title, isNeeded: true },
  })
  if (!given || given.text === title) return
  const set = (title: string) => client.conversations.describe({ conversationId, body: { title } })
  await set(given.text)
  tell('Renamed.', () => set(title))
}

async function changePhase({ client, conversationId }: Place): Promise<void> {
  const { phase, legal } = await client.teams.phase({ conversationId })
  if (legal.length === 0) {
    tell(phase === null ? 'This project has no phases.' : `From ${phase} there is nowhere to go.`)
    return
  }
  const given = await ask({
    title: 'Change phase',
    text: phase === null ? 'It is in no phase yet.' : `It is in ${phase}.`,
    confirm: 'Change',
    choice: { label: 'Next phase', options: legal },
    field: { label: 'What the next phase is told', isLong: true },
  })
  if (!given) return
  const message = given.text.trim()
  await client.teams.transition({ conversationId, body: { to: given.choice, ...(message !== '' && { message }) } })
  const back = phase === null ? undefined : phase
  tell(
    `Now in ${given.choice}.`,
    back === undefined ? undefined : () => client.teams.transition({ conversationId, body: { to: back } }),
  )
}

async function complete({ client, conversationId }: Place): Promise<void> {
  const given = await ask({
    title: 'Complete this conversation?',
    text: 'It is read-only from then on, until it is reopened.',
    confirm: 'Complete',
    field: { label: 'What came of it', isLong: true },
  })
  if (!given) return
  const summary = given.text.trim()
  await client.conversations.complete({ conversationId, ...(summary !== '' && { body: { summary } }) })
  tell('Completed.', () => client.conversations.reopen({ conversationId }))
}

async function reopen({ client, conversationId }: Place): Promise<void> {
  await client.conversations.reopen({ conversationId })
  tell('Reopened.', () => client.conversations.complete({ conversationId }))
}

async function archive({ client, conversationId }: Place): Promise<void> {
  const given = await ask({
    title: 'Archive this conversation?',
    text: 'It is read-only then, still listed and found. It can be restored at any time.',
    confirm: 'Archive',
  })
  if (!given) return
  await client.conversations.archive({ conversationId })
  tell('Archived.', () => client.conversations.restore({ conversationId }))
}

async function restore({ client, conversationId }: Place): Promise<void> {
  await client.conversations.restore({ conversationId })
  tell('Restored.', () => client.conversations.archive({ conversationId }))
}

async function branch({ client, project, conversationId }: Place, version: number | undefined): Promise<void> {
  const given = await ask({
    title: version === undefined ? 'Branch from here' : `Branch at version ${version}`,
    text: 'A new conversation that shares everything up to there and goes on by itself. Nothing is copied, nothing changes here.',
    confirm: 'Branch',
    field: { label: 'Title of the branch' },
  })
  if (!given) return
  const title = given.text.trim()
  const body = { ...(version !== undefined && { version }), ...(title !== '' && { title }) }
  const made = await client.conversations.branch({ conversationId, body })
  const before = location.hash
  go(address([project, 'conversations', made.id]))
  tell('This is the branch.', async () => {
    await client.conversations.archive({ conversationId: made.id, body: { reason: 'The branch was taken back' } })
    go(before)
    tell('The branch is archived: nothing is ever deleted.')
  })
}

async function merge({ client, conversationId }: Place): Promise<void> {
  const given = await ask({
    title: 'Merge into its parent?',
    text: 'The conclusion becomes a message there. Nothing else moves.',
    confirm: 'Merge',
    field: { label: 'Conclusion (empty: its summary)', isLong: true },
  })
  if (!given) return
  const conclusion = given.text.trim()
  await client.conversations.merge({ conversationId, body: conclusion === '' ? {} : { conclusion } })
  tell('Its conclusion stands in the parent now.')
}

async function pin({ client }: Place, messageId: string, pinned: boolean): Promise<void> {
  const set = (pinned: boolean) => client.conversations.pin({ messageId, body: { pinned } })
  await set(pinned)
  tell(pinned ? 'Pinned: it stays in every request.' : 'No longer pinned.', () => set(!pinned))
}

async function undoTurn({ client, conversationId }: Place): Promise<void> {
  const given = await ask({
    title: 'Take back the last turn?',
    text: 'The newest routing decision no longer counts. The log keeps it.',
    confirm: 'Take back',
    field: { label: 'Why' },
  })
  if (!given) return
  await client.teams.undoTurn({ conversationId, ...(given.text !== '' && { body: { reason: given.text } }) })
  tell('Taken back.')
}

export async function acknowledgeLoop({ client, conversationId }: Place): Promise<void> {
  const given = await ask({
    title: 'Acknowledge the loop?',
    text: 'Routing goes on. What was seen up to now is no evidence any more.',
    confirm: 'Acknowledge',
    field: { label: 'Why' },
  })
  if (!given) return
  await client.teams.clearLoop({ conversationId, ...(given.text !== '' && { body: { reason: given.text } }) })
  tell('Acknowledged: routing may go on.')
}

/** The browser downloads it, so that a log of any size never has to fit in memory. */
function exportLines({ project, conversationId }: Place): void {
  const link = document.createElement('a')
  const path = [project, 'conversations', conversationId].map(encodeURIComponent).join('/')
  link.href = `${base()}/api/v1/projects/${path}/export`
  link.download = `${conversationId}.jsonl`
  link.click()
}
