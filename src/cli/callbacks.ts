import { createHmac } from 'node:crypto'
import { requireWorkspace } from '../administration/admin-context.ts'
import type { Config } from '../config/config.ts'
import type { CommandContext } from './command-context.ts'
import { findCallbackSecret } from './platform.ts'
import { CommandError } from './report.ts'

/** In the form of Standard Webhooks; each workspace has its own. */
export const workspaceCallbackSecret = (secret: string, workspaceId: string): string =>
  `whsec_${createHmac('sha256', secret).update(`callbacks ${workspaceId}`).digest('base64')}`

/** Throws CommandError where there is no such workspace, or no secret to derive it from. */
export const callbackSecretRecord = (session: CommandContext & { readonly config: Config }, workspaceId: string) => {
  requireWorkspace(session, workspaceId)
  const secret = findCallbackSecret(session.config)
  if (secret === null)
    throw new CommandError(
      'callbacks are disabled: the configuration has no `callbacks.secret`, and the servers are not embedded',
    )
  return { workspace: workspaceId, callback_secret: workspaceCallbackSecret(secret, workspaceId) }
}
