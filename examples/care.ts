/** Finding, erasing, purging, restoring. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openColloquy } from 'colloquy'

const folder = mkdtempSync(join(tmpdir(), 'colloquy-example-'))
const colloquy = await openColloquy({ store: `sqlite:${join(folder, 'colloquy.db')}`, project: 'shop' })
const { id } = await colloquy.conversations.createConversation({ title: 'Login page' })
await colloquy.conversations.addEvent(id, { role: 'user', author: 'owner', content: 'The password is swordfish' })

// #region care
const { messages, conversations } = await colloquy.conversations.search({ text: 'passwords' })
console.log(messages[0]?.snippet) // stemmed: finds "password"
console.log(conversations.length) // titles are matched too, with typos: 'logn pge' finds "Login page"

await colloquy.conversations.erase(messages[0]!.messageId, 'a secret') // content gone, hash chain intact
const { archive } = await colloquy.conversations.purge(id) // into an archive file first
await colloquy.conversations.restore(id) // and back, every hash checked
const report = await colloquy.verify()
// #endregion care

assert.equal(messages.length, 1)
assert.match(archive, /archives/)
assert.equal(report.clean, true)
assert.equal((await colloquy.conversations.search({ text: 'logn pge' })).conversations.length, 1)
console.log(`${report.events} events, clean: ${report.clean}`)
await colloquy.close()
rmSync(folder, { recursive: true, force: true })
