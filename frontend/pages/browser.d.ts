// What a browser has beside the standard library: a plotting library of a script tag, and the scope of an AudioWorklet.

declare const uPlot: any;
declare const sampleRate: number;
declare class AudioWorkletProcessor {
  port: MessagePort;
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;
