/** Instruction files for agents. */
import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderWith } from '../../../test/support/repository.ts'
import { instructionFiles } from './instruction-files.ts'

it('gives those that exist, in a fixed order, by their exact names', async () => {
  const folder = folderWith({ 'PROJECT.md': 'a shop\n', 'CLAUDE.md': '# Rules\n', 'agents.md': 'other case' })
  expect(await instructionFiles(folder)).toEqual([
    { name: 'CLAUDE.md', text: '# Rules' },
    { name: 'PROJECT.md', text: 'a shop' },
  ])
})

it('cuts a long file and says so, without breaking a character', async () => {
  const folder = folderWith({ 'AGENTS.md': 'é'.repeat(100) })
  expect(await instructionFiles(folder, 11)).toEqual([
    { name: 'AGENTS.md', text: 'ééééé\n… [cut: 11 of 200 bytes are shown; read AGENTS.md for the rest]' },
  ])
})

it('gives one file under two names once', async () => {
  const folder = folderWith({ 'CLAUDE.md': 'rules' })
  symlinkSync('CLAUDE.md', join(folder, 'AGENTS.md'))
  expect(await instructionFiles(folder)).toEqual([{ name: 'CLAUDE.md', text: 'rules' }])
})

it('does not read through a link that leads out of the project', async () => {
  const folder = folderWith({})
  const secret = join(folderWith({ secret: 'not for a model' }), 'secret')
  symlinkSync(secret, join(folder, 'CLAUDE.md'))
  expect(await instructionFiles(folder)).toEqual([])
})

it('leaves out empty files, folders, pipes and broken links', async () => {
  const folder = folderWith({ 'CLAUDE.md': ' \n', 'PROJECT.md/': '' })
  execFileSync('mkfifo', [join(folder, 'AGENTS.md')])
  expect(await instructionFiles(folder)).toEqual([])
})

it('takes a missing folder for one without instructions', async () => {
  expect(await instructionFiles('/no/such/folder')).toEqual([])
})
