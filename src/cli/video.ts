import { isDeepStrictEqual } from 'node:util'
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

interface OpenedVendors {
  readonly vendors: VideoPollerParts['vendors']
  replace(configs: readonly VideoVendorConfig[]): void
}

/** By name; the sandbox's where no vendor is configured. */
export const openVendors = (
  { videoVendors }: Config,
  sandboxUrl: string | null,
  http: HttpClient,
  { clock }: Runtime,
): OpenedVendors => {
  const configs = sandboxUrl === null ? videoVendors : [createSandboxVendor(sandboxUrl)]
  const opened = configs.map((config) => ({ config, vendor: openVideoVendor({ config, http, clock }) }))
  const present = new Map(opened.map(({ config, vendor }) => [config.name, { credential: config.credential, vendor }]))
  const replace = ({ name, credential }: VideoVendorConfig): void => {
    const former = present.get(name)
    if (former === undefined || isDeepStrictEqual(credential, former.credential)) return
    former.vendor.useCredential(credential)
    present.set(name, { ...former, credential })
  }
  return {
    vendors: new Map(opened.map(({ config, vendor }) => [config.name, vendor])),
    replace: (changed) => changed.forEach(replace),
  }
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
