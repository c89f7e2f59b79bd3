export interface ResponseOwner {
  readonly workspaceId: string
  readonly provider: string
}

export interface ResponseOwners {
  /** Undefined for an unknown id. Rejects with `read_models_unavailable` while it cannot be looked up. */
  find(responseId: string): Promise<ResponseOwner | undefined>
}
