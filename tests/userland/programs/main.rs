// A program in Rust: threads, channels, panics, sockets.
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{mpsc, Arc, Condvar, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

fn verdict(name: &str, result: impl std::fmt::Display) {
    println!("= rust {}: {}", name, result);
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf29ce484222325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100000001b3))
}

fn threads() -> u64 {
    let sum = Arc::new(AtomicU64::new(0));
    let handles: Vec<_> = (0..100)
        .map(|i| {
            let sum = Arc::clone(&sum);
            thread::spawn(move || (0..1000).for_each(|j| drop(sum.fetch_add(i * j, Ordering::Relaxed))))
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    sum.load(Ordering::Relaxed)
}

fn channels() -> u64 {
    let (sender, receiver) = mpsc::sync_channel(4);
    for i in 0..8u64 {
        let sender = sender.clone();
        thread::spawn(move || (0..2000).for_each(|j| sender.send(i + j).unwrap()));
    }
    drop(sender);
    receiver.iter().sum()
}

fn ping_pong() -> u64 {
    let shared = Arc::new((Mutex::new(0u64), Condvar::new()));
    let other = Arc::clone(&shared);
    let handle = thread::spawn(move || turn(&other, 1));
    turn(&shared, 0);
    handle.join().unwrap();
    let turns = *shared.0.lock().unwrap();
    turns
}

fn turn(shared: &(Mutex<u64>, Condvar), parity: u64) {
    let mut count = shared.0.lock().unwrap();
    while *count < 2000 {
        if *count % 2 == parity {
            *count += 1;
            shared.1.notify_all();
        } else {
            count = shared.1.wait(count).unwrap();
        }
    }
}

fn sockets() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        for _ in 0..20 {
            let mut stream = listener.accept().unwrap().0;
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            stream.write_all(&checksum(&got).to_le_bytes()).unwrap();
        }
    });
    let mut right = 0;
    for i in 0..20usize {
        let bytes = vec![i as u8; i * 20000];
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = [0u8; 8];
        stream.read_exact(&mut answer).unwrap();
        right += u32::from(u64::from_le_bytes(answer) == checksum(&bytes));
    }
    server.join().unwrap();
    format!("{} of 20", right)
}

fn maps() -> String {
    let mut map = HashMap::new();
    let mut tree = BTreeMap::new();
    let mut seed = 1u32;
    for i in 0..300_000u32 {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        map.insert(seed, i);
        tree.insert(seed, i);
    }
    let sum: u64 = map.values().map(|value| u64::from(*value)).sum();
    format!("{} {} {:?}", map.len(), sum, tree.iter().next())
}

fn main() {
    verdict("threads", threads());
    verdict("channels", channels());
    verdict("condition", ping_pong());
    verdict("sockets", sockets());
    verdict("maps", maps());
    std::panic::set_hook(Box::new(|_| {}));
    let panicked = thread::spawn(|| Vec::<u8>::new()[1]).join();
    verdict("panic", panicked.is_err());
    let lock = Arc::new(RwLock::new(vec![0u64; 1000]));
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || (0..500).for_each(|_| lock.write().unwrap().iter_mut().for_each(|n| *n += 1)))
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    verdict("rwlock", lock.read().unwrap().iter().sum::<u64>());
    let output = Command::new("/bin/echo").arg("a child").output().unwrap();
    verdict("exec", String::from_utf8_lossy(&output.stdout).trim());
    let begin = Instant::now();
    (0..20).for_each(|_| thread::sleep(Duration::from_millis(5)));
    verdict("sleep", begin.elapsed() >= Duration::from_millis(100));
    let floats: f64 = (1..1_000_000).map(|i| (f64::from(i)).sqrt().sin()).sum();
    verdict("floats", format!("{:016x}", floats.to_bits()));
}
