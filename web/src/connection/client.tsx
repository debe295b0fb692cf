/** The client of the server that this page came from, and the live connection of the project that is looked at. */
import { type Client, connect } from 'colloquy/client'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { base } from '../router/base.ts'
import { type LiveConnection, liveConnection } from './live.ts'

/** Calls that belong to no project: the list of projects, who we are. */
export const server: Client = connect({ url: base() })

type Me = Awaited<ReturnType<Client['operations']['whoami']>>

let known: Promise<Me> | undefined

/** Whom the token says we are, and what it is good for. */
export function whoAmI(): Promise<Me> {
  known ??= server.operations.whoami().catch(error => {
    known = undefined
    throw error
  })
  return known
}

/** The name that the token goes by: what is written here carries it. */
export async function ownName(): Promise<string> {
  return (await whoAmI()).name
}

/** Undefined until it is known. */
export function useMe(): Me | undefined {
  const [me, setMe] = useState<Me>()
  useEffect(() => {
    whoAmI().then(setMe, () => undefined)
  }, [])
  return me
}

interface Connected {
  project: string
  client: Client
  live: LiveConnection
}

const Connection = createContext<Connected | undefined>(undefined)

/** Everything below it talks about one project. Give it the project as its key. */
export function ProjectConnection({ project, children }: { project: string; children: ReactNode }) {
  const [connected] = useState<Connected>(() => {
    const client = connect({ url: base(), project })
    return { project, client, live: liveConnection(client) }
  })
  useEffect(() => {
    connected.live.open()
    return () => connected.live.close()
  }, [connected])
  return <Connection value={connected}>{children}</Connection>
}

function useConnected(): Connected {
  const connected = useContext(Connection)
  if (!connected) throw new Error('only within a project')
  return connected
}

export const useProject = (): string => useConnected().project
export const useClient = (): Client => useConnected().client
export const useLiveConnection = (): LiveConnection => useConnected().live
