import type { Test } from 'tap'
import type { Config } from '../../src/config/config.ts'
import { LossyProxy } from '../adapters/nats/lossy-proxy.ts'
import { NatsServer } from '../adapters/nats/server.ts'
import { startPostgres, type TestPostgres } from './postgres.ts'

/** Servers that a test can stop, start and stand in the way of, with the configuration that leads to them. */
export interface ExternalServers {
  readonly nats: NatsServer
  readonly postgres: TestPostgres
  /** Between the gateway and NATS. */
  readonly wire: LossyProxy
  /** Through the wire. */
  readonly throughWire: NonNullable<Config['external']>
  /** Past the wire. */
  readonly direct: NonNullable<Config['external']>
}

export interface ServerPlaces {
  /** Where the folder of a server is made, when not where the system has such. */
  readonly natsBelow?: string
  readonly postgresBelow?: string
}

export const startExternalServers = async (
  t: Test,
  { natsBelow, postgresBelow }: ServerPlaces = {},
): Promise<ExternalServers> => {
  const postgres = await startPostgres(t, postgresBelow === undefined ? {} : { below: postgresBelow })
  const { url: databaseUrl } = await postgres.newDatabase()
  const nats = await NatsServer.create(natsBelow === undefined ? {} : { below: natsBelow })
  t.teardown(() => nats.remove())
  const wire = await LossyProxy.create(nats.port)
  t.teardown(() => wire.close())
  const { monitoringUrl } = nats
  const leadingTo = (url: string): NonNullable<Config['external']> => ({
    databaseUrl,
    nats: { url, monitoringUrl, user: undefined, password: undefined, credentialsFile: undefined, tls: undefined },
  })
  return { nats, postgres, wire, throughWire: leadingTo(wire.url), direct: leadingTo(nats.url) }
}
