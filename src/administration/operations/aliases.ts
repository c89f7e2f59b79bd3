import { pageOf } from '../../http/page.ts'
import { type AdminOperation, defineOperation, type OperationContext, type OperationInput } from '../operation.ts'
import type { SetAliasRequest } from '../requests.types.ts'
import type { AliasResponse } from '../responses.types.ts'
import { findWarnings, setAlias } from '../routing-changes.ts'
import { describeLogSource, describeSource, findEntry, noOverride, removalReports } from './overrides.ts'

const page = pageOf('aliases')

const renderAlias = ({ tail, configured, catalog }: OperationContext, alias: string): AliasResponse => ({
  object: 'alias',
  alias,
  model: findEntry(catalog().aliases, alias),
  source: describeSource(tail.ledger.routing.aliases.has(alias)),
  configured: findEntry(configured().aliases, alias),
})

const aliasRecords = ({ tail, catalog }: OperationContext) => {
  const { aliases } = tail.ledger.routing
  return Object.entries(catalog().aliases)
    .map(([alias, model]) => ({ alias, model, source: describeLogSource(aliases.has(alias)) }))
    .toSorted((one, other) => (one.alias < other.alias ? -1 : 1))
}

export const aliasOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'alias.list',
    summary: 'Every alias and its source',
    query: page.known,
    answer: 'list of alias',
    http: { method: 'get', path: '/admin/v1/aliases' },
    permission: 'read',
    cli: { arguments: {}, records: aliasRecords },
    run: (context, { query }) => {
      const render = (alias: string) => renderAlias(context, alias)
      return { body: page.show(Object.keys(context.catalog().aliases), (alias) => alias, render, query) }
    },
  }),
  defineOperation({
    name: 'alias.set',
    summary: "Set an alias over the configuration's",
    request: 'requests/admin/set-alias.json',
    answer: 'alias',
    http: { method: 'put', path: '/admin/v1/aliases/:id' },
    permission: 'configure',
    cli: { arguments: { id: '<alias>', model: '<model>' }, reports: { changed: 'set', unchanged: 'unchanged' } },
    run: async (context, { id, body: { model } }: OperationInput<SetAliasRequest>) => {
      const changed = await setAlias(context, context.catalog(), id, model)
      const warnings = findWarnings(context, context.catalog(), [model])
      return { changed, warnings, body: renderAlias(context, id) }
    },
  }),
  defineOperation({
    name: 'alias.unset',
    summary: 'Remove the override, so that the configuration applies',
    answer: 'alias',
    http: { method: 'delete', path: '/admin/v1/aliases/:id' },
    permission: 'configure',
    cli: { arguments: { id: '<alias>' }, reports: removalReports },
    run: async (context, { id }) => {
      if (!(await setAlias(context, context.catalog(), id, null))) throw noOverride('alias')
      return { changed: true, body: renderAlias(context, id) }
    },
  }),
]
