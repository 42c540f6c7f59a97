// Two short tones, made here: no file to load, and nothing that the content policy has to let in.
const TONES = { critical: [880, 1175], warning: [659, 659] }; // hertz, one after the other
const LENGTH = 0.18; // seconds of one
const LOUD = 0.2; // of 1
const PATIENCE = 500; // milliseconds for the browser to begin

let audio = null;

const tone = (pitch, at) => {
  const source = audio.createOscillator();
  const volume = audio.createGain();
  source.frequency.value = pitch;
  // Neither begins nor ends with a crack.
  volume.gain.setValueAtTime(0.0001, at);
  volume.gain.exponentialRampToValueAtTime(LOUD, at + 0.02);
  volume.gain.exponentialRampToValueAtTime(0.0001, at + LENGTH);
  source.connect(volume).connect(audio.destination);
  source.start(at);
  source.stop(at + LENGTH);
};

// Says whether it was heard: browsers keep pages silent on which nothing was pressed yet, and where they are told to.
export const chime = async (severity) => {
  if (!("AudioContext" in window)) return false;
  audio ??= new AudioContext();
  if (audio.state !== "running") {
    // What is not allowed waits for a press rather than being refused.
    await Promise.race([audio.resume().catch(() => {}), new Promise((done) => setTimeout(done, PATIENCE))]);
  }
  if (audio.state !== "running") return false;
  TONES[severity].forEach((pitch, place) => tone(pitch, audio.currentTime + place * LENGTH));
  return true;
};
