import type { AdminOperation } from '../operation.ts'
import { adjustmentOperations } from './adjustments.ts'
import { administratorOperations } from './administrators.ts'
import { alertOperations } from './alerts.ts'
import { aliasOperations } from './aliases.ts'
import { creditOperations } from './credits.ts'
import { deploymentOperations } from './deployments.ts'
import { eventOperations } from './events.ts'
import { invoiceOperations } from './invoices.ts'
import { keyOperations } from './keys.ts'
import { limitOperations } from './limits.ts'
import { periodOperations } from './periods.ts'
import { planOperations } from './plans.ts'
import { priceOperations } from './prices.ts'
import { reportOperations } from './reports.ts'
import { routerOperations } from './routers.ts'
import { subscriptionOperations } from './subscriptions.ts'
import { workspaceOperations } from './workspaces.ts'

export const adminOperations: readonly AdminOperation[] = [
  ...workspaceOperations,
  ...creditOperations,
  ...adjustmentOperations,
  ...keyOperations,
  ...priceOperations,
  ...aliasOperations,
  ...routerOperations,
  ...deploymentOperations,
  ...limitOperations,
  ...alertOperations,
  ...planOperations,
  ...subscriptionOperations,
  ...eventOperations,
  ...reportOperations,
  ...administratorOperations,
  ...periodOperations,
  ...invoiceOperations,
]
