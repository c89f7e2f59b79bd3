import { hourMs } from '../../domain/instant.ts'
import { pageOf } from '../../http/page.ts'
import { firstTokenFigures } from '../../projections/requests/table.ts'
import { fromTables } from '../../read-api/read-tables.ts'
import { type AdminOperation, defineOperation, type OperationContext } from '../operation.ts'
import type { DeploymentResponse } from '../responses.types.ts'

const page = pageOf('deployments')

interface Named {
  readonly provider: string
  readonly deployment: string | null
}

const placeOf = ({ provider, deployment }: Named): string => `${provider}/${deployment ?? ''}`

/** Without vendors of videos alone, whose calls are not counted. */
const configured = ({ catalog }: OperationContext): readonly Named[] =>
  [...catalog().providers]
    .filter(([, { surfaces }]) => surfaces?.every((surface) => surface === 'video') !== true)
    .flatMap(([provider, { deployments = [null] }]) => deployments.map((deployment) => ({ provider, deployment })))

const stateOf = ({ calls, failed, ejections }: Omit<DeploymentResponse, 'state'>): DeploymentResponse['state'] => {
  if (ejections !== null && ejections.length > 0) return 'ejected'
  if (calls === 0) return 'unused'
  return failed === calls ? 'failing' : 'healthy'
}

export const deploymentOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'deployment.list',
    summary: 'Providers and their deployments: how their calls went, and which are not called for a while',
    query: page.known,
    answer: 'list of deployment',
    http: { method: 'get', path: '/admin/v1/deployments' },
    permission: 'read',
    run: async (context, { query }) => {
      const { clock, ejections, readModels } = context
      const since = new Date((Math.floor(clock() / hourMs) - 1) * hourMs)
      const { sequence, value } = await fromTables(readModels.listCalls(since))
      const ejected = ejections?.() ?? null
      const show = ({ provider, deployment }: Named): DeploymentResponse => {
        const isOf = (other: Named): boolean => placeOf(other) === placeOf({ provider, deployment })
        const { calls = 0, failed = 0, firstTokens = [], lastFailure: last = null } = value.find(isOf) ?? {}
        const shown = {
          ...{ object: 'deployment' as const, provider, deployment, since: since.toISOString(), calls, failed },
          first_token: firstTokenFigures(firstTokens),
          last_failure: last === null ? null : { ...last, at: last.at.toISOString() },
          ejections:
            ejected?.filter(isOf).map(({ model, reason, until }) => ({ model, reason, until: until.toISOString() })) ??
            null,
        }
        return { ...shown, state: stateOf(shown) }
      }
      return { sequence, body: page.show(configured(context), placeOf, show, query) }
    },
  }),
]
