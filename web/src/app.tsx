/** The root component: resolves the address to a screen and renders it inside the frame. */
import { Suspense } from 'react'
import { AskDialog } from './components/ask.tsx'
import { Boundary } from './components/boundary.tsx'
import { Notices } from './components/notices.tsx'
import { ProjectConnection } from './connection/client.tsx'
import { OpenQuestions } from './connection/questions.tsx'
import { Frame } from './layout/frame.tsx'
import { match } from './router/address.ts'
import { useAddress } from './router/router.tsx'
import { routes } from './routes.tsx'
import { NotFound } from './screens/not-found.tsx'
import { Projects } from './screens/projects/projects.tsx'

export function App() {
  const address = useAddress()
  const [project] = address.segments
  if (project === undefined) return <Projects />
  for (const { path, Screen } of routes) {
    const params = match(path, address)
    if (!params) continue
    return (
      <ProjectConnection key={project} project={project}>
        <OpenQuestions>
          <Frame>
            <Boundary key={address.segments.join('/')}>
              <Suspense fallback={<div className="page" aria-busy="true" />}>
                <Screen params={params} />
              </Suspense>
            </Boundary>
          </Frame>
        </OpenQuestions>
        <AskDialog />
        <Notices />
      </ProjectConnection>
    )
  }
  return <NotFound />
}
