import { providerCapabilities, requestedTier } from '../dialect/capabilities.ts'
import type { Target } from '../dialect/dialect.ts'

/** Those of OpenAI that providers with this dialect may refuse. */
const refusedMembers = ['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention', 'safety_identifier']

/**
 * The standard tier is named, so that an account's own default does not reach the bill; no member is sent where the
 * provider has no tiers, or other names.
 */
const setServiceTier = (draft: Record<string, unknown>, target: Target): void => {
  const { serviceTier = 'default' } = requestedTier(target, draft['service_tier'])
  delete draft['service_tier']
  if (providerCapabilities(target.provider).service_tiers.includes(serviceTier)) draft['service_tier'] = serviceTier
}

/** Leaves the members that the provider accepts, and names the service tier. */
export const fitMembers = (draft: Record<string, unknown>, target: Target): void => {
  setServiceTier(draft, target)
  if (providerCapabilities(target.provider).unknown_members === 'accepted') return
  for (const member of refusedMembers) delete draft[member]
}
