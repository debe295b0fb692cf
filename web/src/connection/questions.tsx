/** Open questions of the project. Their number stands in the title of every page. */
import type { Client } from 'colloquy/client'
import { createContext, type ReactNode, useContext, useEffect } from 'react'
import { useClient, useProject } from './client.tsx'
import { useResource } from './use-resource.ts'

export type OpenQuestion = Awaited<ReturnType<Client['runs']['questions']>>['items'][number]

const Questions = createContext<readonly OpenQuestion[]>([])
const none: readonly OpenQuestion[] = []

export function OpenQuestions({ children }: { children: ReactNode }) {
  const client = useClient()
  const { data } = useResource(
    'questions',
    signal => client.runs.questions({}, { signal }),
    ({ type }) => type.startsWith('question.'),
  )
  return <Questions value={data?.items ?? none}>{children}</Questions>
}

export function useOpenQuestions(conversationId?: string): readonly OpenQuestion[] {
  const all = useContext(Questions)
  return conversationId === undefined ? all : all.filter(one => one.conversationId === conversationId)
}

/** Sets the page title, preceded by the number of open questions. */
export function useTitle(title: string): void {
  const project = useProject()
  const { length } = useContext(Questions)
  useEffect(() => {
    document.title = `${length > 0 ? `(${length}) ` : ''}${title === project ? title : `${title} · ${project}`} · Colloquy`
  }, [title, project, length])
}
