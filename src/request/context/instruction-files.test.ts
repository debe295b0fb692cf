/** Instruction files for agents. */
import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { folderWith } from '../../../test/support/repository.ts'
import { instructionFiles } from './instruction-files.ts'

it('instruction files are those that exist, in a fixed order, by their exact names', async () => {
  const folder = folderWith({ 'PROJECT.md': 'a shop\n', 'CLAUDE.md': '# Rules\n', 'agents.md': 'other case' })
  expect(await instructionFiles(folder)).toEqual([
    { name: 'CLAUDE.md', text: '# Rules' },
    { name: 'PROJECT.md', text: 'a shop' },
  ])
})

it('a long instruction file is cut with a notice, without breaking a character', async () => {
  const folder = folderWith({ 'AGENTS.md': 'é'.repeat(100) })
  expect(await instructionFiles(folder, 11)).toEqual([
    { name: 'AGENTS.md', text: 'ééééé\n… [cut: 11 of 200 bytes are shown; read AGENTS.md for the rest]' },
  ])
})

it('an instruction file under two names is given once', async () => {
  const folder = folderWith({ 'CLAUDE.md': 'rules' })
  symlinkSync('CLAUDE.md', join(folder, 'AGENTS.md'))
  expect(await instructionFiles(folder)).toEqual([{ name: 'CLAUDE.md', text: 'rules' }])
})

it('instruction files are not read through a link that leads out of the project', async () => {
  const folder = folderWith({})
  const secret = join(folderWith({ secret: 'not for a model' }), 'secret')
  symlinkSync(secret, join(folder, 'CLAUDE.md'))
  expect(await instructionFiles(folder)).toEqual([])
})

it('instruction files leave out empty files, folders, pipes and broken links', async () => {
  const folder = folderWith({ 'CLAUDE.md': ' \n', 'PROJECT.md/': '' })
  execFileSync('mkfifo', [join(folder, 'AGENTS.md')])
  expect(await instructionFiles(folder)).toEqual([])
})

it('a missing folder has no instruction files', async () => {
  expect(await instructionFiles('/no/such/folder')).toEqual([])
})
