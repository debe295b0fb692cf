import { hasRead } from '../views/read-files.ts'
import { type Decision, openConversationIn } from './decision.ts'

/** Records that an agent read a file of the project, once per file. */
export function recordReadFile(id: string, agent: string, path: string): Decision {
  return heads => {
    const { info } = openConversationIn(heads, id)
    return hasRead(info.readFiles, agent, path) ? [] : [{ type: 'file.read', agent, path }]
  }
}
