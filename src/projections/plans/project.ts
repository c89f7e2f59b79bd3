import type { Subscription } from '../../domain/plans/subscription.ts'
import type { PlanPublished } from '../../events/types.ts'
import { toInstant } from '../schema/columns.ts'
import { defineReadModel, rowsOfChanged } from '../schema/read-model.ts'
import type { RowOf } from '../schema/tables.ts'
import { planTables } from './table.ts'

const planRow = (plan: PlanPublished): RowOf<'plans'> => ({ plan_id: plan.planId, published: JSON.stringify(plan) })

const subscriptionRow = (subscription: Subscription): RowOf<'subscriptions'> => ({
  workspace_id: subscription.workspaceId,
  subscription_id: subscription.subscriptionId,
  terms: JSON.stringify(subscription.terms),
  starts_at: toInstant(subscription.startsAtMs),
  expires_at: toInstant(subscription.expiresAtMs),
  anchor_day: subscription.anchorDay,
  renews: subscription.renews,
})

export const plansReadModel = defineReadModel({
  name: 'plans',
  version: 1,
  tables: planTables,
  startBatch: () => {
    const published = new Set<string>()
    const subscribers = new Set<string>()
    return {
      addEvent: ({ event }) => {
        switch (event.type) {
          case 'PlanPublished':
            published.add(event.data.planId)
            break
          case 'PlanSubscribed':
          case 'PlanRenewed':
          case 'PlanCancelled':
          case 'PlanEnded':
            subscribers.add(event.data.workspaceId)
        }
      },
      finish: ({ accounts }) => ({
        written: {
          plans: rowsOfChanged(published, (id) => accounts.plans.get(id), planRow),
          subscriptions: rowsOfChanged(subscribers, (id) => accounts.subscriptions.get(id), subscriptionRow),
        },
        deleted: {
          subscriptions: [...subscribers]
            .filter((id) => !accounts.subscriptions.has(id))
            .map((workspace_id) => ({ workspace_id })),
        },
      }),
    }
  },
})
