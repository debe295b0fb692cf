/** An agent's description as the text its model reads. The same description gives the same bytes. */
import type { AgentDescription } from '../../log/events/description.ts'

export function renderDescription(description: AgentDescription): string {
  const { role, instructions, allowedTools, toolInstructions } = description
  const parts = [
    role.trim(),
    instructions.length > 0 && `## Instructions\n${instructions.map(line => `- ${line.trim()}`).join('\n')}`,
    (allowedTools.length > 0 || toolInstructions?.trim()) && toolSection(allowedTools, toolInstructions?.trim()),
  ]
  return parts.filter(Boolean).join('\n\n')
}

function toolSection(allowedTools: readonly string[], instructions: string | undefined): string {
  const allowed = allowedTools.length > 0 && `You may use these tools and no others: ${allowedTools.join(', ')}.`
  return ['## Tools', allowed, instructions].filter(Boolean).join('\n')
}
