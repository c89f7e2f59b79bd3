import fc from 'fast-check'
import t from 'tap'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { decideWallet } from '../../../src/domain/wallet/decide.ts'
import type { AdjustCommand } from '../../../src/domain/wallet/decide-adjustment.ts'
import { applyToWallet, type WalletFact } from '../../../src/domain/wallet/evolve.ts'
import { balancePicos, initialWallet, type Wallet } from '../../../src/domain/wallet/wallet.ts'

const credited = (amount: string, reference: string, expiresAt?: string): WalletFact => ({
  type: 'WalletCredited',
  data: { workspaceId: 'acme', amount, reference, note: '', ...(expiresAt === undefined ? {} : { expiresAt }) },
})

const given = (...facts: readonly WalletFact[]): Wallet => {
  const wallet = initialWallet('acme')
  for (const fact of facts) applyToWallet(wallet, fact)
  return wallet
}

const adjust = (wallet: Wallet, amount: string, reference: string, more: Partial<AdjustCommand> = {}) => {
  const command = { type: 'Adjust', reason: 'correction', note: '', reference, nowMs: 0, ...more } as const
  const decision = decideWallet({ ...command, amountPicos: parseUsd(amount) }, wallet)
  if ('refused' in decision) return decision.refused
  for (const fact of decision.facts) applyToWallet(wallet, fact)
  return decision.facts.map(({ data }) => data)
}

const balance = (wallet: Wallet): string => formatUsd(balancePicos(wallet))

t.test('a credit typed as 2500 instead of 250 is reversed, at most whole', async (t) => {
  const wallet = given(credited('2500', 'invoice 7'))
  const corrects = 'credit:invoice 7'
  t.same(adjust(wallet, '-2500.01', 'ticket-1', { corrects }), {
    reason: 'reversal_exceeds',
    leftPicos: parseUsd('-2500'),
  })
  t.match(
    adjust(wallet, '1', 'ticket-1', { corrects }),
    { reason: 'reversal_exceeds' },
    'a credit is not reversed by money',
  )
  t.same(adjust(wallet, '-2250', 'ticket-1', { corrects, by: 'operator:ana' }), [
    {
      ...{ adjustmentId: 'operator:ticket-1', workspaceId: 'acme', amount: '-2250', reason: 'correction', note: '' },
      ...{ reference: 'ticket-1', corrects, by: 'operator:ana' },
    },
  ])
  t.equal(balance(wallet), '250')
  t.match(adjust(wallet, '-250.000000000001', 'ticket-2', { corrects }), { leftPicos: parseUsd('-250') })
  adjust(wallet, '-250', 'ticket-2', { corrects })
  t.equal(balance(wallet), '0')
  t.match(adjust(wallet, '-0.000000000001', 'ticket-3', { corrects }), { leftPicos: 0n })
  t.same(adjust(wallet, '-1', 'ticket-3', { corrects: 'credit:invoice 8' }), { reason: 'credit_unknown' })
})

t.test('an adjustment is reversed by another, at most whole', async (t) => {
  const wallet = given(credited('10', 'invoice-1'))
  adjust(wallet, '-4', 'ticket-1')
  const corrects = 'operator:ticket-1'
  t.match(adjust(wallet, '-1', 'ticket-2', { corrects }), { reason: 'reversal_exceeds', leftPicos: parseUsd('4') })
  adjust(wallet, '3', 'ticket-2', { corrects })
  t.match(adjust(wallet, '1.5', 'ticket-3', { corrects }), { leftPicos: parseUsd('1') })
  adjust(wallet, '1', 'ticket-3', { corrects })
  t.equal(balance(wallet), '10')
})

t.test('refunds and corrections of a charge together never exceed it', async (t) => {
  const wallet = given(credited('10', 'invoice-1'))
  const of = { corrects: 'request-1', chargedPicos: parseUsd('0.0004') }
  const refund = { ...of, reason: 'refund' } as const
  t.same(adjust(wallet, '5', 'ticket-1', refund), { reason: 'charge_exceeded', leftPicos: parseUsd('0.0004') })
  t.match(adjust(wallet, '0.0003', 'ticket-1', refund), [{ amount: '0.0003' }])
  t.same(adjust(wallet, '0.0003', 'ticket-1', refund), [], 'posted once')
  t.same(adjust(wallet, '0.0002', 'ticket-2', of), { reason: 'charge_exceeded', leftPicos: parseUsd('0.0001') })
  const proposed = { by: 'admin:ana', proposedUntilMs: 1_000 }
  t.match(adjust(wallet, '0.0001', 'ticket-2', { ...of, ...proposed }), [{ amount: '0.0001' }])
  t.match(adjust(wallet, '-0.0001', 'ticket-3', of), [{ amount: '-0.0001' }], 'more is charged')
  t.match(adjust(wallet, '0.0002', 'ticket-4', of), [{ amount: '0.0002' }])
  const approval = { type: 'ApproveAdjustment', adjustmentId: 'operator:ticket-2', by: 'admin:bob', nowMs: 0 } as const
  t.same(decideWallet({ ...approval, chargedPicos: of.chargedPicos }, wallet), {
    refused: { reason: 'charge_changed', beforePicos: parseUsd('0.0001'), nowPicos: 0n },
  })
  t.match(adjust(wallet, '1', 'ticket-5', { ...of, reason: 'goodwill' }), [{ amount: '1' }])
})

t.test('a proposed correction of a charge is not approved once another one has corrected it', async (t) => {
  const of = { corrects: 'request-1', chargedPicos: parseUsd('10') }
  const proposed = { ...of, by: 'admin:ana', proposedUntilMs: 1_000 }
  const approve = (wallet: Wallet, reference: string) => {
    const approval = {
      type: 'ApproveAdjustment',
      adjustmentId: `operator:${reference}`,
      by: 'admin:bob',
      nowMs: 0,
    } as const
    return decideWallet({ ...approval, chargedPicos: of.chargedPicos }, wallet)
  }
  const reconciled = (amount: string, adjustmentId = 'reconcile:1', corrects = of.corrects): WalletFact => ({
    type: 'AdjustmentPosted',
    data: { adjustmentId, workspaceId: 'acme', amount, reason: 'reconciliation', corrects, note: '' },
  })
  const wallet = given(credited('100', 'invoice-1'))
  t.match(adjust(wallet, '-3', 'debit', proposed), [{ amount: '-3', charged: '10' }])
  adjust(wallet, '2', 'credit', proposed)
  adjust(wallet, '2', 'refund', { ...proposed, reason: 'refund' })
  applyToWallet(wallet, reconciled('-3'))
  const changed = { refused: { reason: 'charge_changed', beforePicos: parseUsd('10'), nowPicos: parseUsd('13') } }
  t.same(approve(wallet, 'debit'), changed, 'it would be charged twice')
  t.same(approve(wallet, 'credit'), changed)
  t.match(approve(wallet, 'refund'), { facts: [{}, { data: { amount: '2' } }] }, 'corrects no figure')
  t.equal(balance(wallet), '97')
  const unchanged = given(credited('100', 'invoice-1'))
  adjust(unchanged, '-3', 'debit', proposed)
  const { facts = [] } = approve(unchanged, 'debit') as { readonly facts?: readonly WalletFact[] }
  t.same(
    facts.map(({ data }) => 'charged' in data),
    [false, false],
    'only the proposal has it',
  )
})

t.test('the same reference posts once, and another amount under it is refused', async (t) => {
  const wallet = given(credited('10', 'invoice-1'))
  adjust(wallet, '-4', 'ticket-1')
  t.same(adjust(wallet, '-4', 'ticket-1'), [])
  t.same(adjust(wallet, '-5', 'ticket-1'), { reason: 'adjustment_differs', postedPicos: parseUsd('-4') })
  t.equal(balance(wallet), '6')
})

t.test('what is reversed of a credit that expires does not lapse as well', async (t) => {
  const wallet = given(credited('2500', 'invoice-7', '2026-12-01T00:00:00.000Z'))
  adjust(wallet, '-2250', 'ticket-1', { corrects: 'credit:invoice-7' })
  t.match(wallet.grants, [{ reference: 'invoice-7', remainingPicos: parseUsd('250') }])
  const lapse = decideWallet({ type: 'LapseCredit', reference: 'invoice-7' }, wallet)
  for (const fact of 'facts' in lapse ? lapse.facts : []) applyToWallet(wallet, fact)
  t.equal(balance(wallet), '0')
})

t.test('in any order, reversals of a credit together never exceed it', async () => {
  const picos = fc.bigInt(1n, 3_000n)
  fc.assert(
    fc.property(picos, fc.array(fc.tuple(picos, fc.boolean()), { maxLength: 20 }), (amountPicos, tries) => {
      const wallet = given(credited(formatUsd(amountPicos), 'invoice-1'))
      for (const [index, [reversedPicos, isCredit]] of tries.entries())
        adjust(wallet, formatUsd(isCredit ? reversedPicos : -reversedPicos), `t-${index}`, {
          corrects: 'credit:invoice-1',
        })
      return balancePicos(wallet) >= 0n && balancePicos(wallet) <= amountPicos
    }),
  )
})

const end = (wallet: Wallet, type: 'ApproveAdjustment' | 'RejectAdjustment', by: string | undefined, nowMs = 0) => {
  const decision = decideWallet({ type, adjustmentId: 'operator:ticket-1', by, nowMs }, wallet)
  if ('refused' in decision) return decision.refused.reason
  for (const fact of decision.facts) applyToWallet(wallet, fact)
  return decision.facts.map(({ type: decided }) => decided)
}

t.test('a proposal moves nothing until another than its proposer approves it, once', async (t) => {
  const wallet = given(credited('500', 'invoice 7'))
  const proposed = { by: 'admin:ana', proposedUntilMs: 1_000, corrects: 'credit:invoice 7', note: 'a typo' }
  t.match(adjust(wallet, '-450', 'ticket-1', proposed), [
    { adjustmentId: 'operator:ticket-1', amount: '-450', by: 'admin:ana', expiresAt: '1970-01-01T00:00:01.000Z' },
  ])
  t.equal(balance(wallet), '500')
  t.same(adjust(wallet, '-450', 'ticket-1', proposed), [], 'proposed once')
  t.same(adjust(wallet, '-450', 'ticket-1'), [], 'also where it would be posted by now')
  t.same(adjust(wallet, '-45', 'ticket-1'), { reason: 'proposal_differs', proposedPicos: parseUsd('-450') })
  t.equal(end(wallet, 'ApproveAdjustment', 'admin:ana'), 'proposal_own')
  t.equal(end(wallet, 'ApproveAdjustment', 'admin:bob', 1_000), 'proposal_expired')
  t.same(end(wallet, 'ApproveAdjustment', 'admin:bob', 999), ['AdjustmentApproved', 'AdjustmentPosted'])
  t.equal(balance(wallet), '50')
  t.same(end(wallet, 'ApproveAdjustment', 'admin:bob'), [])
  t.equal(end(wallet, 'RejectAdjustment', 'admin:bob'), 'proposal_approved')
  t.same(adjust(wallet, '-450', 'ticket-1', proposed), [], 'posted once')
  t.equal(balance(wallet), '50')
})

t.test('a proposal is checked again when it is approved: two of the same credit never exceed it', async (t) => {
  const wallet = given(credited('500', 'invoice 7'))
  const proposed = { by: 'admin:ana', proposedUntilMs: 1_000, corrects: 'credit:invoice 7' }
  adjust(wallet, '-450', 'ticket-1', proposed)
  adjust(wallet, '-60', 'ticket-2')
  adjust(wallet, '-60', 'ticket-3', { corrects: 'credit:invoice 7' })
  t.equal(end(wallet, 'ApproveAdjustment', 'admin:bob'), 'reversal_exceeds')
  t.equal(balance(wallet), '380')
})

t.test('what is rejected or withdrawn is not proposed again; what has expired can be', async (t) => {
  const wallet = given(credited('500', 'invoice 7'))
  const proposed = { by: 'admin:ana', proposedUntilMs: 1_000 }
  t.equal(end(wallet, 'RejectAdjustment', 'admin:bob'), 'proposal_unknown')
  adjust(wallet, '200', 'ticket-1', proposed)
  t.match(adjust(wallet, '300', 'ticket-1', { ...proposed, nowMs: 1_000, proposedUntilMs: 2_000 }), [{ amount: '300' }])
  t.same(end(wallet, 'RejectAdjustment', 'admin:ana', 1_000), ['AdjustmentRejected'])
  t.same(end(wallet, 'RejectAdjustment', 'admin:bob', 1_000), [])
  t.equal(end(wallet, 'ApproveAdjustment', 'admin:bob', 1_000), 'proposal_rejected')
  t.same(adjust(wallet, '300', 'ticket-1', proposed), { reason: 'proposal_rejected' })
  t.equal(balance(wallet), '500')
})

t.test('who is not named approves nothing of another who is not', async (t) => {
  const wallet = given()
  adjust(wallet, '200', 'ticket-1', { proposedUntilMs: 1_000 })
  t.equal(end(wallet, 'ApproveAdjustment', undefined), 'proposal_own')
})

t.test(
  'a confirmed charge is corrected once, and gives back at most what other corrections have left of it',
  async (t) => {
    const wallet = given(credited('10', 'invoice-1'))
    const confirm = (amount: string, corrected = '0.6') =>
      decideWallet(
        {
          type: 'CorrectCharge',
          adjustment: {
            ...{ adjustmentId: 'confirmed:task-1', workspaceId: 'acme', amount, reason: 'correction' as const },
            ...{ corrects: 'task-1', note: '', by: 'operator:ana' },
          },
          chargedPicos: parseUsd('0.63'),
          correctedPicos: parseUsd(corrected),
        },
        wallet,
      )
    adjust(wallet, '0.6', 'ticket-1', { reason: 'refund', corrects: 'task-1', chargedPicos: parseUsd('0.63') })
    t.same(confirm('0.07'), { refused: { reason: 'charge_exceeded', leftPicos: parseUsd('0.03') } })
    t.match(
      confirm('-0.14'),
      { facts: [{ type: 'AdjustmentPosted', data: { amount: '-0.14' } }] },
      'a debit is not bound',
    )
    t.same(confirm('0.03', '0'), { refused: { reason: 'charge_corrected' } }, 'it was corrected since')
    const decision = confirm('0.03')
    if ('facts' in decision) for (const fact of decision.facts) applyToWallet(wallet, fact)
    t.equal(balance(wallet), '10.63')
    t.same(confirm('0.03'), { facts: [] })
    t.same(confirm('0.02'), { refused: { reason: 'adjustment_differs', postedPicos: parseUsd('0.03') } })
  },
)
