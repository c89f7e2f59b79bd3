import type { EndUserKeyStore } from '../../src/log/end-users.ts'

export class MemoryEndUserKeys implements EndUserKeyStore {
  readonly keys = new Map<string, string>()

  async find(workspaceId: string): Promise<string | null> {
    return this.keys.get(workspaceId) ?? null
  }

  async create(workspaceId: string, key: string): Promise<string> {
    const stored = this.keys.get(workspaceId) ?? key
    this.keys.set(workspaceId, stored)
    return stored
  }

  async erase(workspaceId: string): Promise<boolean> {
    return this.keys.delete(workspaceId)
  }
}
