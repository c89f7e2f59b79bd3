import { sandboxVideoKey } from '../../sandbox/server.ts'
import { GuardedClient } from '../adapters/http/guarded-client.ts'
import type { Config } from '../config/config.ts'
import { sandboxVendor } from '../config/providers.ts'
import type { HttpClient } from '../providers/http.ts'
import { openVideoVendor } from '../providers/vv-video/open-video-vendor.ts'
import type { VideoVendorConfig } from '../providers/vv-video/vendor.ts'
import type { VideoPollerParts } from '../roles/video-poller/role.ts'
import { sharedLimits } from '../runtime/limits.ts'
import { workspaceCallbackSecret } from './callbacks.ts'
import { findCallbackSecret } from './platform.ts'
import type { Runtime } from './runtime.ts'
import type { ShutdownStack } from './shutdown-stack.ts'

const createSandboxVendor = (baseUrl: string): VideoVendorConfig => ({
  name: sandboxVendor,
  baseUrl,
  credential: { type: 'key', apiKey: sandboxVideoKey },
  callsPerSecond: sharedLimits.vendorCallsPerSecond,
})

/** By name; the sandbox's where no vendor is configured. */
export const openVendors = (
  { videoVendors }: Config,
  sandboxUrl: string | null,
  http: HttpClient,
  { clock }: Runtime,
): VideoPollerParts['vendors'] => {
  const configs = sandboxUrl === null ? videoVendors : [createSandboxVendor(sandboxUrl)]
  return new Map(configs.map((config) => [config.name, openVideoVendor({ config, http, clock })]))
}

/** Null where no callbacks are sent. */
export const openWebhooks = (config: Config, stack: ShutdownStack): VideoPollerParts['webhooks'] => {
  const secret = findCallbackSecret(config)
  if (config.callbacks === null || secret === null) return null
  return {
    http: stack.push(new GuardedClient(config.callbacks)),
    secretOf: (workspaceId) => workspaceCallbackSecret(secret, workspaceId),
  }
}
