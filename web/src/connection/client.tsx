/** The client of the server that delivered this page, and the live connection of the current project. */
import { type Client, connect } from 'colloquy/client'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { base } from '../router/base.ts'
import { type LiveConnection, liveConnection } from './live.ts'

/** For calls outside any project, such as listing projects. */
export const server: Client = connect({ url: base() })

type Me = Awaited<ReturnType<Client['operations']['whoami']>>

let known: Promise<Me> | undefined

/** Returns the identity and permissions of the current token. */
export function whoAmI(): Promise<Me> {
  known ??= server.operations.whoami().catch(error => {
    known = undefined
    throw error
  })
  return known
}

/** Returns the token's name, which becomes the actor of everything written from this page. */
export async function ownName(): Promise<string> {
  return (await whoAmI()).name
}

/** Undefined until loaded. */
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

/** Provides the client of one project. Use the project as the React key. */
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
