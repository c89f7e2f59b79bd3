import { parseMonth, utcDayAt } from '../../domain/instant.ts'
import { GatewayError, invalidValue } from '../../errors/gateway-error.ts'
import type { Parameter } from '../../http/query.ts'
import { parseReportGroup, type ReportGroup, reportGroups, sumRows } from '../../projections/statements/report.ts'
import { reportRecord } from '../../projections/statements/report-record.ts'
import { requireKnownTags } from '../../projections/usage/known-tags.ts'
import { fromTables } from '../../read-api/read-tables.ts'
import { administrationLimits } from '../limits.ts'
import { type AdminOperation, defineOperation } from '../operation.ts'
import type { ReportResponse } from '../responses.types.ts'
import * as parameters from './parameters.ts'

const groupsParameter: Parameter<readonly ReportGroup[]> = {
  read: (text) => {
    const names = text.split(',')
    const groups = names.flatMap((name) => parseReportGroup(name) ?? [])
    return groups.length === names.length && new Set(groups).size === groups.length ? groups : undefined
  },
  form: `one or more of ${reportGroups.join(', ')} and tag:<name>, each once, with commas between them`,
  schema: { type: 'string', minLength: 1 },
}

const groupsByDefault: readonly ReportGroup[] = ['workspace', 'model']
const monthCharacters = 'YYYY-MM'.length

export const reportOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'report.show',
    summary: 'Charges, corrections and fees of all workspaces in a UTC month, checked against their statements',
    query: { month: parameters.monthParameter('the present one'), group_by: groupsParameter },
    answer: 'report',
    http: { method: 'get', path: '/admin/v1/reports' },
    permission: 'read_money',
    run: async ({ readModels, tagNames, clock }, { query: { month: asked, group_by: groupBy = groupsByDefault } }) => {
      const month = asked ?? utcDayAt(clock()).slice(0, monthCharacters)
      const range = parseMonth(month)!
      if (range.from.getTime() > clock()) throw invalidValue('month', `${month} has not begun in UTC`)
      const { sequence, value } = await fromTables(readModels.readReport({ ...range, groupBy }))
      requireKnownTags(value.rows, { groupBy }, tagNames)
      const { reportRowsMax } = administrationLimits
      if (value.rows.length > reportRowsMax)
        // Without a parameter: refusals of `group_by` are of what it names.
        throw new GatewayError(
          'invalid_value',
          `${month} has ${value.rows.length} rows by these groups, more than ${reportRowsMax}: use fewer groups.`,
        )
      const body = {
        object: 'report',
        month,
        group_by: [...groupBy],
        workspaces: value.workspaces,
        rows: value.rows.map((row) => reportRecord(groupBy, row)),
        total: reportRecord([], sumRows(value.rows)),
      } satisfies ReportResponse
      return { sequence, body }
    },
  }),
]
