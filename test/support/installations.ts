import type { Test } from 'tap'
import { startExternalServers } from './external-servers.ts'
import { type Account, type Operator, startTestGateway, type TestOptions, untilKeyIsKnown } from './gateway.ts'
import { startRolesTogether } from './roles-together.ts'

export interface Installation {
  readonly url: string
  readonly operator: Operator
  readonly account: Account
}

const startWhole = async (t: Test, options: TestOptions): Promise<Installation> => {
  const { gateway, operator, account } = await startTestGateway(t, options)
  return { url: gateway.url, operator, account }
}

/** Edge and proxy reach each other over NATS. */
const startRolesApart = async (t: Test, options: TestOptions): Promise<Installation> => {
  const { direct: external } = await startExternalServers(t)
  const { urls, operator } = await startRolesTogether(t, { external, ...options })
  const [url = ''] = urls
  const account = await operator.openAccount('acme', '100')
  await untilKeyIsKnown(url, account)
  return { url, operator, account }
}

/** The two ways in which edge and proxy are connected. */
export const installations = [
  { name: 'roles together', start: startWhole },
  { name: 'roles apart', start: startRolesApart },
] as const
