/** Which files of the project agents have read, and what they may write because of it. */

import { InvalidInput, PathRefused } from '../../errors.ts'
import { parseInput } from '../../log/commands/input.ts'
import { recordReadFile } from '../../log/commands/read-file.ts'
import type { WriteOptions } from '../../log/engine.ts'
import { Id } from '../../log/events/id.ts'
import { hasRead, type ReadFiles as Known } from '../../log/views/read-files.ts'
import { type ProjectPath, projectPath } from '../../request/context/project-path.ts'
import type { ConversationAccess } from '../access/conversation-access.ts'

/** Permission of an agent to write a file. The caller writes to `absolutePath`, the place that was checked. */
export type WritePermission =
  | { may: true; path: string; absolutePath: string; reason: string }
  | { may: false; path: string; reason: string }

export class ReadFiles {
  readonly #access: ConversationAccess
  readonly #root: string | undefined

  constructor(access: ConversationAccess, root: string | undefined) {
    this.#access = access
    this.#root = root
  }

  /** The same for another folder: a worktree of the project. Paths are kept from its root, as in the project. */
  in(root: string | undefined): ReadFiles {
    return root === this.#root ? this : new ReadFiles(this.#access, root)
  }

  /** Returns the path as it is recorded: from the root, links resolved. */
  async record(
    conversationId: string,
    { agent, path }: { agent: string; path: string },
    options: WriteOptions | undefined,
  ): Promise<string> {
    parseInput(Id, agent)
    const found = await this.#find(path)
    if (!found.inside) throw new PathRefused({ path, reason: found.reason })
    if (found.kind !== 'file') throw new InvalidInput('path', `"${path}" is not a file that can be read`)
    const decide = recordReadFile(conversationId, agent, found.path)
    await this.#access.execute(conversationId, {
      decide,
      asked: ['recordReadFile', conversationId, agent, path],
      options,
    })
    return found.path
  }

  async list(conversationId: string): Promise<Known> {
    return (await this.#access.head(conversationId)).info.readFiles ?? {}
  }

  /** A new file may be written; one that is there only by an agent that has read it. */
  async mayWrite(conversationId: string, agent: string, path: string): Promise<WritePermission> {
    const { info } = await this.#access.head(conversationId)
    const no = (reason: string, at = path): WritePermission => ({ may: false, path: at, reason })
    if (info.status !== 'active') return no(`the conversation is ${info.status} and read-only`)
    const found = await this.#find(path)
    if (!found.inside) return no(`it ${found.reason}`)
    const yes = (reason: string): WritePermission => ({
      may: true,
      path: found.path,
      absolutePath: found.absolute,
      reason,
    })
    if (found.kind === 'nothing') return yes('it is not there yet')
    if (found.kind !== 'file') return no('it is not a file', found.path)
    return hasRead(info.readFiles, agent, found.path)
      ? yes(`${agent} has read it`)
      : no(`${agent} has not read it; read it first`, found.path)
  }

  async #find(path: string): Promise<ProjectPath> {
    if (this.#root === undefined) return { inside: false, reason: 'is nowhere: the project has no folder' }
    return projectPath(this.#root, path)
  }
}
