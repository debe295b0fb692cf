/**
 * Panels next to the timeline, one at a time: `?panel=ID`. Each shows the conversation at a version or now. A new panel
 * is a line here.
 */
import type { ComponentType } from 'react'
import { AgentsPanel } from './agents-panel.tsx'

export interface PanelProps {
  conversationId: string
  /** Version to show; undefined means now. */
  at: number | undefined
}

interface Panel {
  id: string
  title: string
  Content: ComponentType<PanelProps>
}

export const panels: readonly Panel[] = [{ id: 'agents', title: 'Agents', Content: AgentsPanel }]
