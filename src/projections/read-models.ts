import { accountsReadModel } from './accounts/project.ts'
import { adminChangesReadModel } from './admin-changes/project.ts'
import { callsReadModel } from './calls/project.ts'
import { chargesReadModel } from './charges/project.ts'
import { writersReadModel } from './checkpoint/project.ts'
import { lostWritersReadModel } from './lost-writers/project.ts'
import { plansReadModel } from './plans/project.ts'
import { pricesReadModel } from './prices/project.ts'
import { refusalsReadModel } from './refusals/project.ts'
import { requestsReadModel } from './requests/project.ts'
import { routingReadModel } from './routing/project.ts'
import type { ReadModel } from './schema/read-model.ts'
import { sealsReadModel } from './seals/project.ts'
import { statementsReadModel } from './statements/project.ts'
import { storedResponsesReadModel } from './stored-responses/project.ts'
import { tasksReadModel } from './tasks/project.ts'
import { usageReadModel } from './usage/project.ts'
import { walletsReadModel } from './wallets/project.ts'

export const readModels: readonly ReadModel[] = [
  accountsReadModel,
  adminChangesReadModel,
  callsReadModel,
  chargesReadModel,
  lostWritersReadModel,
  plansReadModel,
  pricesReadModel,
  refusalsReadModel,
  requestsReadModel,
  routingReadModel,
  sealsReadModel,
  statementsReadModel,
  storedResponsesReadModel,
  tasksReadModel,
  usageReadModel,
  walletsReadModel,
  writersReadModel,
]
