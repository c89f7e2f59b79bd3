import { workspacesCount } from './plan.ts'

export interface IssuedKey {
  readonly keyId: string
  readonly secret: string
}

/** The keys of each workspace, as its operator and its clients know them. */
export class SimKeys {
  readonly #founding: { readonly first: IssuedKey; limited: IssuedKey }[] = []
  /** Issued or rotated since; some of them are revoked. */
  readonly #issued: IssuedKey[][] = Array.from({ length: workspacesCount }, () => [])

  open(first: IssuedKey, limited: IssuedKey): void {
    this.#founding.push({ first, limited })
  }

  add(workspace: number, key: IssuedKey): void {
    this.#issued[workspace]!.push(key)
  }

  /** Its clients go over to the fresh one, of which some learn late. */
  rotate(workspace: number, keyId: string, fresh: IssuedKey): void {
    const founding = this.#founding[workspace]!
    if (founding.limited.keyId !== keyId) return
    this.add(workspace, founding.limited)
    founding.limited = fresh
  }

  first(workspace: number): IssuedKey {
    return this.#founding[workspace]!.first
  }

  /** The one with a spend limit. */
  limited(workspace: number): IssuedKey {
    return this.#founding[workspace]!.limited
  }

  /** By a draw from 0 to below 1; undefined where none was issued. */
  draw(workspace: number, draw: number): IssuedKey | undefined {
    const keys = this.#issued[workspace]!
    return keys[Math.floor(draw * keys.length)]
  }
}
