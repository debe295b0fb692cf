/** The number of open questions, with a menu that leads to them. */
import { Menu } from '../components/menu.tsx'
import { useProject } from '../connection/client.tsx'
import { useOpenQuestions } from '../connection/questions.tsx'
import { counted, firstWords } from '../format.ts'
import { address } from '../router/address.ts'
import { go } from '../router/router.tsx'

export function QuestionsBadge() {
  const questions = useOpenQuestions()
  const project = useProject()
  if (questions.length === 0) return null
  const label = counted(questions.length, 'open question')
  return (
    <Menu
      label={label}
      className="badge badge--warn frame__questions"
      items={questions.map(({ agent, text, conversationId, version }) => ({
        label: `${agent}: ${firstWords(text, 60)}`,
        hint: text,
        onChoose: () => go(address([project, 'conversations', conversationId], { v: version })),
      }))}
    >
      <span aria-hidden="true">?</span> {questions.length}
    </Menu>
  )
}
