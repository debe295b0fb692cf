/** All screens by address. A new screen is a line here and a folder in `screens/`. */
import { type ComponentType, lazy } from 'react'
import type { Params } from './router/address.ts'

export interface ScreenProps {
  params: Params
}

interface Route {
  path: string
  Screen: ComponentType<ScreenProps>
  /** Label in the navigation bar; screens without one are reached from others. */
  title?: string
}

export const routes: readonly Route[] = [
  {
    path: ':project',
    title: 'Conversations',
    Screen: lazy(() => import('./screens/home/home.tsx').then(one => ({ default: one.Home }))),
  },
  {
    path: ':project/search',
    title: 'Search',
    Screen: lazy(() => import('./screens/search/search.tsx').then(one => ({ default: one.Search }))),
  },
  {
    path: ':project/work',
    title: 'Work',
    Screen: lazy(() => import('./screens/work/work.tsx').then(one => ({ default: one.WorkScreen }))),
  },
  {
    path: ':project/sessions/:session',
    Screen: lazy(() => import('./screens/session/session.tsx').then(one => ({ default: one.SessionScreen }))),
  },
  {
    path: ':project/conversations/:conversation/view',
    Screen: lazy(() => import('./screens/agent-view/agent-view.tsx').then(one => ({ default: one.AgentViewScreen }))),
  },
  {
    path: ':project/health',
    title: 'Health',
    Screen: lazy(() => import('./screens/health/health.tsx').then(one => ({ default: one.HealthScreen }))),
  },
  {
    path: ':project/conversations/:conversation',
    Screen: lazy(() =>
      import('./screens/conversation/conversation.tsx').then(one => ({ default: one.ConversationScreen })),
    ),
  },
]
