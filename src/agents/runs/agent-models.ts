/** Chooses the model of an agent and opens each model once. */

import { FeatureOff, IllegalState, ModelMissing } from '../../errors.ts'
import type { Scope } from '../../log/engine.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { Model } from '../../models/model.ts'
import { type ModelSettings, openModel } from '../../models/open.ts'
import type { AgentSettings } from './agent-settings.ts'
import type { RunOptions } from './run-options.ts'

export interface AgentModels {
  /**
   * Returns the first model named: by the caller, the session, the agent type, the project.
   *
   * @throws {ModelMissing} when none is named
   * @throws {FeatureOff} when the project has agents switched off
   */
  choose(head: Pick<SessionHead, 'agentType' | 'requests'>, options: Pick<RunOptions, 'model' | 'root'>): Promise<Model>
  /** Names of the models in the project's settings. */
  configured(): string[]
}

export function agentModels({
  scope,
  settings,
  defaultModel,
  isOn,
  root: projectRoot,
  openedModels,
}: {
  scope: Scope
  settings: AgentSettings
  /** The model whose limits requests respect. */
  defaultModel: string | undefined
  isOn: boolean
  root: string | undefined
  /** Models opened by name, each once. */
  openedModels: Map<string, Promise<Model>>
}): AgentModels {
  const { project } = scope

  function settingsOf(name: string): ModelSettings {
    const { prices, concurrency } = settings
    const maxCalls = typeof concurrency === 'number' ? concurrency : concurrency[name]
    return { prices, ...(maxCalls !== undefined && { concurrency: maxCalls }) }
  }

  return {
    async choose(head, { model: override, root = projectRoot }) {
      if (!isOn) throw new FeatureOff({ feature: 'agents', project })
      const { model, models } = settings
      const choice = override ?? head.requests?.model ?? models[head.agentType] ?? model ?? defaultModel
      if (choice === undefined) throw new ModelMissing(head.agentType)
      if (typeof choice !== 'string') return choice
      if (root === undefined && choice.startsWith('command:')) {
        throw new IllegalState(
          `${choice} runs a program, which needs the project's folder. Nothing was run; set projects.${project}.root.`,
          { project },
        )
      }
      // A command runs in the folder it was opened for.
      const key = JSON.stringify([choice, root])
      let opened = openedModels.get(key)
      if (!opened) {
        opened = openModel(choice, { ...settingsOf(choice), ...(root !== undefined && { folder: root }) })
        openedModels.set(key, opened)
        // A model that failed to open may open later, for example once its key is set.
        opened.catch(() => openedModels.delete(key))
      }
      return opened
    },
    configured() {
      const { model, models } = settings
      return [defaultModel, model, ...Object.values(models)].filter(name => typeof name === 'string')
    },
  }
}
