/** Every screen there is, by its address. A new screen is a line here and a folder in `screens/`. */
import { type ComponentType, lazy } from 'react'
import type { Params } from './router/address.ts'

export interface ScreenProps {
  params: Params
}

export interface Route {
  path: string
  Screen: ComponentType<ScreenProps>
  /** Its name in the bar at the top; screens without one are reached from others. */
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
    path: ':project/conversations/:conversation',
    Screen: lazy(() =>
      import('./screens/conversation/conversation.tsx').then(one => ({ default: one.ConversationScreen })),
    ),
  },
]
