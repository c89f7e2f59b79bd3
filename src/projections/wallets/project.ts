import type { Applied, Ledger, LedgerFrame } from '../../domain/ledger/ledger.ts'
import { findLabelOf, type Movement } from '../../domain/wallet/evolve.ts'
import { isLabel } from '../../domain/wallet/holders.ts'
import { isCounted } from '../../domain/wallet/wallet.ts'
import type { LimitsSet } from '../../events/types.ts'
import { defineReadModel, type ModelRows, type RowAccumulator, rowsOfChanged } from '../schema/read-model.ts'
import { storedText } from '../schema/stored-text.ts'
import type { RowOf } from '../schema/tables.ts'
import { holdRow, keySpendingRow, labelSpendingRow, referencesOf, walletRow } from './rows.ts'
import { walletTables } from './table.ts'

type WalletTable = keyof typeof walletTables

/** The workspace and an id within it, by both. */
type ScopedIds = Map<string, readonly [workspaceId: string, id: string]>

const addId = (ids: ScopedIds, workspaceId: string, id: string): void => {
  ids.set(`${workspaceId} ${id}`, [workspaceId, id])
}

class WalletRows implements RowAccumulator<WalletTable> {
  readonly #wallets = new Set<string>()
  readonly #holds: ScopedIds = new Map()
  readonly #spendings: ScopedIds = new Map()
  readonly #labels: ScopedIds = new Map()
  readonly #references: RowOf<'wallet_references'>[] = []

  addFrame({ walletSubject }: LedgerFrame): void {
    if (walletSubject !== null) this.#wallets.add(walletSubject)
  }

  addEvent(applied: Applied): void {
    if (applied.movements.length > 0) this.#addMoved(applied)
    this.#addChanged(applied)
  }

  finish({ wallets }: Ledger): ModelRows<WalletTable> {
    const holds = this.#splitHolds(wallets)
    const labels = this.#splitLabels(wallets)
    return {
      written: {
        wallets: rowsOfChanged(this.#wallets, (id) => wallets.get(id), walletRow),
        holds: holds.open,
        key_spending: Array.from(this.#spendings.values()).flatMap(([workspaceId, keyId]) => {
          const spending = wallets.get(workspaceId)?.spendings.get(keyId)
          return spending === undefined ? [] : [keySpendingRow(workspaceId, keyId, spending)]
        }),
        label_spending: labels.counted,
        wallet_references: this.#references,
      },
      deleted: { holds: holds.ended, label_spending: labels.dropped },
    }
  }

  #addMoved(applied: Applied): void {
    for (const movement of applied.movements) this.#addSpending(movement)
    this.#references.push(...referencesOf(applied))
  }

  #addSpending({ workspaceId, spender }: Movement): void {
    for (const holder of spender?.holders ?? [])
      addId(isLabel(holder) ? this.#labels : this.#spendings, workspaceId, holder)
  }

  #addChanged({ event, closed, task }: Applied): void {
    switch (event.type) {
      case 'WorkspaceOpened':
      case 'WorkspaceChanged':
      case 'PlanSubscribed':
      case 'PlanRenewed':
      case 'CreditExpired':
      case 'WalletCredited':
      case 'AdjustmentPosted':
        this.#wallets.add(event.data.workspaceId)
        break
      case 'LimitsSet':
        this.#addLabel(event.data)
        break
      case 'HoldPlaced':
      case 'HoldReleased':
        this.#addHold(event.data.workspaceId, event.data.holdId)
        break
      case 'TaskSettled':
        if (task !== null) this.#addHold(event.data.workspaceId, event.data.taskId)
        break
      case 'RequestRouted':
      case 'UsageRecorded':
        if (closed !== null) this.#addCharge(closed)
    }
  }

  #addLabel(data: LimitsSet): void {
    const label = findLabelOf(data)
    if (label !== null) addId(this.#labels, data.workspaceId, label)
  }

  #addHold(workspaceId: string, holdId: string): void {
    this.#wallets.add(workspaceId)
    addId(this.#holds, workspaceId, holdId)
  }

  #addCharge({ routed, closing }: NonNullable<Applied['closed']>): void {
    if (closing.type === 'RequestFailed') return
    const { workspaceId } = closing.data
    this.#wallets.add(workspaceId)
    if (routed.data.allowanceId !== null) addId(this.#holds, workspaceId, routed.data.allowanceId)
  }

  #splitLabels(wallets: Ledger['wallets']) {
    const counted: RowOf<'label_spending'>[] = []
    const dropped: Pick<RowOf<'label_spending'>, 'workspace_id' | 'label'>[] = []
    for (const [workspaceId, label] of this.#labels.values()) {
      const wallet = wallets.get(workspaceId)
      if (wallet !== undefined && isCounted(wallet, label)) counted.push(labelSpendingRow(wallet, label))
      else dropped.push({ workspace_id: workspaceId, label: storedText(label) })
    }
    return { counted, dropped }
  }

  #splitHolds(wallets: Ledger['wallets']) {
    const open: RowOf<'holds'>[] = []
    const ended: Pick<RowOf<'holds'>, 'workspace_id' | 'hold_id'>[] = []
    for (const [workspaceId, holdId] of this.#holds.values()) {
      const hold = wallets.get(workspaceId)?.holds.get(holdId)
      if (hold === undefined) ended.push({ workspace_id: workspaceId, hold_id: holdId })
      else open.push(holdRow(hold))
    }
    return { open, ended }
  }
}

export const walletsReadModel = defineReadModel({
  name: 'wallets',
  version: 1,
  tables: walletTables,
  startBatch: () => new WalletRows(),
})
