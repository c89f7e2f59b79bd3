type Texts = Readonly<Record<string, string>>

/** Numbers of a batch's events, added up by group: the rows of a table that is written by `add`. */
export class GroupedCounts<Group extends Texts, Name extends string> {
  readonly #names: readonly Name[]
  readonly #groups = new Map<string, { readonly group: Group; readonly counts: Record<Name, number> }>()

  constructor(names: readonly Name[]) {
    this.#names = names
  }

  add(group: Group, added: { readonly [N in Name]?: number }): void {
    let id = ''
    for (const name in group) id += `${group[name]}\n`
    let found = this.#groups.get(id)
    if (found === undefined) {
      found = { group, counts: Object.fromEntries(this.#names.map((name) => [name, 0])) as Record<Name, number> }
      this.#groups.set(id, found)
    }
    for (const name in added) found.counts[name] += added[name]!
  }

  rows(): readonly (Group & { readonly [N in Name]: string })[] {
    return Array.from(this.#groups.values(), ({ group, counts }) => ({
      ...group,
      ...(Object.fromEntries(this.#names.map((name) => [name, String(counts[name])])) as {
        readonly [N in Name]: string
      }),
    }))
  }
}
