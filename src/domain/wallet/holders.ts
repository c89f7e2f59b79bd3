import type { RequestRouted } from '../../events/types.ts'

/**
 * What has spend limits and spending of its own, as text: a key, by its id; a tag, `tag team=search`; an end user,
 * `end-user <id>`. No key's id has a space.
 */
export type Holder = string

export type Labels = Pick<RequestRouted, 'tags' | 'endUser'>

const tagPrefix = 'tag '
const endUserPrefix = 'end-user '

export const tagHolder = (tag: string): Holder => tagPrefix + tag

export const endUserHolder = (endUser: string): Holder => endUserPrefix + endUser

/** A tag or an end user. Its spending is counted only while it has limits. */
export const isLabel = (holder: Holder): boolean => holder.includes(' ')

export const labelsOf = ({ tags = {}, endUser }: Labels): readonly Holder[] => {
  const ofTags = Object.keys(tags)
    .sort()
    .map((name) => tagHolder(`${name}=${tags[name]}`))
  return endUser === undefined ? ofTags : [...ofTags, endUserHolder(endUser)]
}

export const findTag = (holder: Holder): string | null =>
  holder.startsWith(tagPrefix) ? holder.slice(tagPrefix.length) : null

export const findEndUser = (holder: Holder): string | null =>
  holder.startsWith(endUserPrefix) ? holder.slice(endUserPrefix.length) : null

interface HolderMembers extends Labels {
  readonly keyId?: string
}

export const eventMembers = (holders: readonly Holder[]): HolderMembers => {
  let members: HolderMembers = {}
  for (const holder of holders) {
    const [tag, endUser] = [findTag(holder), findEndUser(holder)]
    if (endUser !== null) members = { ...members, endUser }
    else if (tag === null) members = { ...members, keyId: holder }
    else {
      const at = tag.indexOf('=')
      members = { ...members, tags: { ...members.tags, [tag.slice(0, at)]: tag.slice(at + 1) } }
    }
  }
  return members
}
