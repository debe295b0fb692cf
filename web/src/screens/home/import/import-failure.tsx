/** The reason an import failed, with a link to what was imported. */
import { Failure } from '../../../components/failure.tsx'
import { useProject } from '../../../connection/client.tsx'
import { Link } from '../../../router/router.tsx'
import { conversationPlace } from '../../places.ts'
import { ImportCutShort } from './import-file.ts'

export function ImportFailure({ error }: { error: unknown }) {
  const project = useProject()
  return (
    <>
      <Failure error={error} />
      {error instanceof ImportCutShort && (
        <p>
          <Link to={conversationPlace(project, error.conversationId)}>Look at what was kept</Link>
        </p>
      )}
    </>
  )
}
