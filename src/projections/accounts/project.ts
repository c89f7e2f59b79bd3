import type { Key, Workspace } from '../../domain/accounts/accounts.ts'
import { formatUsd } from '../../domain/money.ts'
import { findLabelOf } from '../../domain/wallet/evolve.ts'
import type { LimitsSet } from '../../events/types.ts'
import { toInstantOrNull } from '../schema/columns.ts'
import { defineReadModel, rowsOfChanged } from '../schema/read-model.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { accountTables } from './table.ts'

const workspaceRow = ({ workspaceId, name, creditLimitPicos, account }: Workspace): RowOf<'workspaces'> => ({
  workspace_id: workspaceId,
  name: storedText(name),
  credit_limit: formatUsd(creditLimitPicos),
  account: account ?? null,
})

const keyRow = (key: Key): RowOf<'keys'> => ({
  key_id: key.keyId,
  workspace_id: key.workspaceId,
  name: storedText(key.name),
  sha256: key.sha256,
  prefix: storedText(key.prefix),
  revoked: key.revoked,
  expires_at: toInstantOrNull(key.expiresAtMs),
  replaces: key.replaces,
})

const limitsRow = ({ workspaceId, keyId, limits }: LimitsSet): RowOf<'limits'> => ({
  workspace_id: workspaceId,
  key_id: keyId ?? '',
  limits: JSON.stringify(limits),
})

export const accountsReadModel = defineReadModel({
  name: 'accounts',
  version: 2,
  tables: accountTables,
  startBatch: () => {
    const workspaces = new Set<string>()
    const keys = new Set<string>()
    const limits = new Map<string, RowOf<'limits'>>()
    return {
      addEvent: ({ event }) => {
        switch (event.type) {
          case 'WorkspaceOpened':
          case 'WorkspaceChanged':
            workspaces.add(event.data.workspaceId)
            break
          case 'KeyIssued':
          case 'KeyExpirySet':
          case 'KeyRevoked':
            keys.add(event.data.keyId)
            break
          case 'LimitsSet':
            if (findLabelOf(event.data) === null)
              limits.set(`${event.data.workspaceId} ${event.data.keyId ?? ''}`, limitsRow(event.data))
        }
      },
      finish: ({ accounts }) => ({
        written: {
          workspaces: rowsOfChanged(workspaces, (id) => accounts.workspaces.get(id), workspaceRow),
          keys: rowsOfChanged(keys, (id) => accounts.keys.get(id), keyRow),
          limits: [...limits.values()],
        },
      }),
    }
  },
})
